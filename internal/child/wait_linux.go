package child

import (
	"os"

	"golang.org/x/sys/unix"
)

func waitUnreaped(p *os.Process) error {
	for {
		err := unix.Waitid(unix.P_PID, p.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return os.NewSyscallError("waitid", err)
		}
	}
}
