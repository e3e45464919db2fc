//go:build darwin || freebsd || netbsd || openbsd

package child

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// waitUnreaped waits for the event of the child's end, which does not reap it.
func waitUnreaped(p *os.Process) error {
	queue, err := unix.Kqueue()
	if err != nil {
		return os.NewSyscallError("kqueue", err)
	}
	defer unix.Close(queue)
	var change unix.Kevent_t
	unix.SetKevent(&change, p.Pid, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT)
	change.Fflags = unix.NOTE_EXIT
	events := make([]unix.Kevent_t, 1)
	for {
		n, err := unix.Kevent(queue, []unix.Kevent_t{change}, events, nil)
		if err == nil && n == 1 && events[0].Flags&unix.EV_ERROR != 0 { // of adding the change
			err = syscall.Errno(events[0].Data)
		}
		switch err {
		case unix.EINTR:
		case unix.ESRCH: // it has ended already
			return nil
		default:
			return os.NewSyscallError("kevent", err)
		}
	}
}
