package sys

import "golang.org/x/sys/unix"

// fsync on macOS leaves the data in the drive's cache; F_FULLFSYNC does not. File systems without it answer ENOTSUP or ENOTTY.
// A failure of the disk is told once, so that fsync must not be asked after it.
func syncFD(fd int) error {
	switch _, err := unix.FcntlInt(uintptr(fd), unix.F_FULLFSYNC, 0); err {
	case nil, unix.EINTR, unix.EIO, unix.ENOSPC, unix.EDQUOT:
		return err
	}
	return unix.Fsync(fd)
}
