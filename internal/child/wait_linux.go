package child

import (
	"os"

	"golang.org/x/sys/unix"
)

func waitUnreaped(p *os.Process) error {
	_, err := awaitUnreaped(p)
	return err
}

// exitedByItself waits for the end of a child and reports whether it is known to be none by a signal. The child is not reaped.
func exitedByItself(p *os.Process) bool {
	const exited = 1 // CLD_EXITED
	how, err := awaitUnreaped(p)
	return err == nil && how.Code == exited
}

func awaitUnreaped(p *os.Process) (how unix.Siginfo, err error) {
	for {
		err := unix.Waitid(unix.P_PID, p.Pid, &how, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return how, os.NewSyscallError("waitid", err)
		}
	}
}
