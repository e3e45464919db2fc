//go:build unix && !linux

package sys

import "golang.org/x/sys/unix"

func killed(pid int) Presence {
	switch unix.Kill(pid, 0) {
	case nil:
		return Present
	case unix.EPERM:
		return Forbidden
	case unix.ESRCH:
		return Absent
	}
	return Unknown
}
