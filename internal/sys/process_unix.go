//go:build unix

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

// killedGroup is killed for a group. There is no asking for group 1: its number negated means everybody.
func killedGroup(group int) Presence {
	if group <= 1 {
		return Unknown
	}
	return killed(-group)
}
