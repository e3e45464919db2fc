package sys

import "golang.org/x/sys/unix"

// fsync on macOS leaves the data in the drive's cache; F_FULLFSYNC does not. File systems without it answer ENOTSUP.
func syncFD(fd int) error {
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_FULLFSYNC, 0); err == nil || err == unix.EINTR {
		return err
	}
	return unix.Fsync(fd)
}
