package sys

import "golang.org/x/sys/unix"

// maxAgain bounds how often the call is repeated because a directory on the way was renamed meanwhile.
const maxAgain = 100

// openBeneath has the kernel refuse links and escapes in one step. Kernels before 5.6 do not know the call and some sandboxes
// forbid it: there it goes component by component.
func openBeneath(dir int, path string, flags int, perm uint32) (int, error) {
	how := unix.OpenHow{
		Flags:   uint64(flags),
		Mode:    uint64(perm),
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
	}
	for range maxAgain {
		fd, err := unix.Openat2(dir, path, &how)
		switch err {
		case unix.EINTR, unix.EAGAIN:
		case unix.ENOSYS, unix.EPERM:
			return walk(dir, path, flags, perm)
		default:
			return fd, err
		}
	}
	return walk(dir, path, flags, perm)
}
