//go:build unix || windows

package compat

import (
	"runtime"
	"syscall"
)

// invented is the first of the numbers that package syscall made up on Windows for errors that only Unix has.
const invented = 1 << 29

// systemCode is Node's code of an error of the system's, and empty for every other error.
func systemCode(err error) string {
	if status, ok := err.(interface{ Errno() syscall.Errno }); ok { // of Windows' native calls
		err = status.Errno()
	}
	errno, ok := err.(syscall.Errno)
	switch {
	case !ok || errno == 0:
		return ""
	case runtime.GOOS == "windows" && errno < invented:
		return windowsCode(uint32(errno))
	}
	for _, e := range errnos {
		if e.errno == errno {
			return e.code
		}
	}
	return unknown
}

// errnos are libuv's, and so Node's, names of error numbers; on Windows, of the invented ones. Left out are those that some
// systems do not have, such as ENODATA: they belong to sockets and streams. Where two names have one number the first counts.
var errnos = []struct {
	errno syscall.Errno
	code  string
}{
	{syscall.ENOENT, "ENOENT"},
	{syscall.EEXIST, "EEXIST"},
	{syscall.EPERM, "EPERM"},
	{syscall.EACCES, "EACCES"},
	{syscall.ENOTDIR, "ENOTDIR"},
	{syscall.EISDIR, "EISDIR"},
	{syscall.ENOTEMPTY, "ENOTEMPTY"},
	{syscall.ENOSPC, "ENOSPC"},
	{syscall.EROFS, "EROFS"},
	{syscall.EBUSY, "EBUSY"},
	{syscall.EXDEV, "EXDEV"},
	{syscall.ENAMETOOLONG, "ENAMETOOLONG"},
	{syscall.ELOOP, "ELOOP"},
	{syscall.EMFILE, "EMFILE"},
	{syscall.ENFILE, "ENFILE"},
	{syscall.EIO, "EIO"},
	{syscall.EINVAL, "EINVAL"},
	{syscall.EAGAIN, "EAGAIN"},
	{syscall.EBADF, "EBADF"},
	{syscall.EFBIG, "EFBIG"},
	{syscall.EINTR, "EINTR"},
	{syscall.EMLINK, "EMLINK"},
	{syscall.ENODEV, "ENODEV"},
	{syscall.ENOMEM, "ENOMEM"},
	{syscall.ENOSYS, "ENOSYS"},
	{syscall.ENOTSUP, "ENOTSUP"},
	{syscall.EOPNOTSUPP, "ENOTSUP"},
	{syscall.ENOTTY, "ENOTTY"},
	{syscall.ENXIO, "ENXIO"},
	{syscall.EOVERFLOW, "EOVERFLOW"},
	{syscall.EPIPE, "EPIPE"},
	{syscall.ERANGE, "ERANGE"},
	{syscall.ESPIPE, "ESPIPE"},
	{syscall.ESRCH, "ESRCH"},
	{syscall.ETIMEDOUT, "ETIMEDOUT"},
	{syscall.ETXTBSY, "ETXTBSY"},
	{syscall.E2BIG, "E2BIG"},
	{syscall.ECANCELED, "ECANCELED"},
	{syscall.EFAULT, "EFAULT"},
	{syscall.EILSEQ, "EILSEQ"},
	{syscall.EPROTO, "EPROTO"},
	{syscall.EADDRINUSE, "EADDRINUSE"},
	{syscall.EADDRNOTAVAIL, "EADDRNOTAVAIL"},
	{syscall.EAFNOSUPPORT, "EAFNOSUPPORT"},
	{syscall.EALREADY, "EALREADY"},
	{syscall.ECONNABORTED, "ECONNABORTED"},
	{syscall.ECONNREFUSED, "ECONNREFUSED"},
	{syscall.ECONNRESET, "ECONNRESET"},
	{syscall.EDESTADDRREQ, "EDESTADDRREQ"},
	{syscall.EHOSTDOWN, "EHOSTDOWN"},
	{syscall.EHOSTUNREACH, "EHOSTUNREACH"},
	{syscall.EISCONN, "EISCONN"},
	{syscall.EMSGSIZE, "EMSGSIZE"},
	{syscall.ENETDOWN, "ENETDOWN"},
	{syscall.ENETUNREACH, "ENETUNREACH"},
	{syscall.ENOBUFS, "ENOBUFS"},
	{syscall.ENOPROTOOPT, "ENOPROTOOPT"},
	{syscall.ENOTCONN, "ENOTCONN"},
	{syscall.ENOTSOCK, "ENOTSOCK"},
	{syscall.EPROTONOSUPPORT, "EPROTONOSUPPORT"},
	{syscall.EPROTOTYPE, "EPROTOTYPE"},
	{syscall.ESHUTDOWN, "ESHUTDOWN"},
	{syscall.ESOCKTNOSUPPORT, "ESOCKTNOSUPPORT"},
}
