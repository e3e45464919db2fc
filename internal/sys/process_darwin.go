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

// ProbeGroup asks the system about a process group: Exited is a group of which only members are left that nobody reaped.
func ProbeGroup(group int) Presence {
	answer := killedGroup(group)
	if answer == Absent || answer == Unknown {
		return answer
	}
	members, err := unix.SysctlKinfoProcSlice("kern.proc.pgrp", group)
	if err != nil || len(members) == 0 {
		return answer
	}
	for _, m := range members {
		if m.Proc.P_stat != zombie {
			return answer
		}
	}
	return Exited
}
