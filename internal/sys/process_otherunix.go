//go:build unix && !linux && !darwin

package sys

// Probe asks the system about a process number. "No such process" is only ever kill's answer. Processes that have ended
// and are not reaped count as present.
func Probe(pid int) Process { return Process{Presence: killed(pid)} }

// Describe knows nothing here.
func Describe(int) Description { return Description{} }

// ProbeGroup asks the system about a process group. Members that have ended and are not reaped count as present.
func ProbeGroup(group int) Presence { return killedGroup(group) }
