package sys

import (
	"time"

	"golang.org/x/sys/unix"
)

// zombie is SZOMB of sys/proc.h.
const zombie = 5

// Probe asks the system about a process number. "No such process" is only ever kill's answer.
func Probe(pid int) Process {
	p := Process{Presence: killed(pid)}
	if p.Presence == Absent || p.Presence == Unknown {
		return p
	}
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(info.Proc.P_pid) != pid {
		return p
	}
	if info.Proc.P_stat == zombie {
		p.Presence = Exited
	}
	p.Start = uint64(unix.TimevalToNsec(info.Proc.P_starttime)) / uint64(time.Microsecond)
	return p
}

// Describe tells what is known of a live process; for people only.
func Describe(pid int) Description {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(info.Proc.P_pid) != pid {
		return Description{}
	}
	return Description{
		Command: unix.ByteSliceToString(info.Proc.P_comm[:]),
		Started: time.Unix(info.Proc.P_starttime.Unix()),
	}
}
