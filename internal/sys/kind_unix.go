//go:build unix

package sys

import "syscall"

func errnoKind(err error) Kind {
	errno, ok := err.(syscall.Errno)
	if !ok {
		return Other
	}
	switch errno {
	case syscall.EEXIST:
		return Exists
	case syscall.ENOENT:
		return NotExist
	case syscall.EPERM:
		return NotPermitted
	case syscall.EACCES:
		return AccessDenied
	case syscall.ENOTDIR:
		return NotDirectory
	case syscall.EISDIR:
		return IsDirectory
	case syscall.ENOSPC, syscall.EDQUOT:
		return NoSpace
	case syscall.EROFS:
		return ReadOnly
	case syscall.ENAMETOOLONG:
		return NameTooLong
	case syscall.EBUSY:
		return Busy
	case syscall.EXDEV:
		return CrossDevice
	case syscall.ELOOP:
		return Loop
	case syscall.EMFILE, syscall.ENFILE:
		return TooManyFiles
	case syscall.EIO:
		return IO
	case syscall.EINVAL:
		return Invalid
	case syscall.EAGAIN:
		return WouldBlock
	case syscall.ESRCH:
		return NoProcess
	case syscall.ENOLCK:
		return NoLocks
	case syscall.ERANGE:
		return OutOfRange
	}
	// Some systems give two of these names one number.
	if errno == syscall.ENOTEMPTY {
		return NotEmpty
	}
	if errno == syscall.ENOSYS || errno == syscall.ENOTSUP || errno == syscall.EOPNOTSUPP {
		return Unsupported
	}
	return Other
}
