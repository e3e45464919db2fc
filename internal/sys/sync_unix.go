//go:build unix && !darwin

package sys

import "golang.org/x/sys/unix"

func syncFD(fd int) error {
	for {
		if err := unix.Fsync(fd); err != unix.EINTR {
			return err
		}
	}
}
