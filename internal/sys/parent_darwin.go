package sys

import "golang.org/x/sys/unix"

// Parent is the parent of a process; 0 if unknown.
func Parent(pid int) int {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(info.Proc.P_pid) != pid {
		return 0
	}
	return int(info.Eproc.Ppid)
}
