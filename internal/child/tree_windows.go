package child

import (
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/holdfast-go/holdfast/internal/sys"
)

// Members lists the live processes of the tree: those of the child's job, or the child alone where the run is not ours.
func (t Tree) Members() []Member {
	pids := []int{t.Root}
	if t.Child != nil {
		pids = t.Child.gate.processes()
	}
	var members []Member
	for _, pid := range pids {
		if pid == 0 {
			continue
		}
		if p := sys.Probe(pid).Presence; p == sys.Present || p == sys.Forbidden {
			members = append(members, Member{PID: pid, Command: sys.Describe(pid).Command})
		}
	}
	return members
}

// mostListed bounds the list of a job's processes.
const mostListed = 4096

func (g *gate) processes() (pids []int) {
	job := windows.Handle(g.job.Load())
	if job == 0 { // it would mean our own
		return nil
	}
	var list struct {
		assigned, listed uint32
		pids             [mostListed]uintptr
	}
	err := windows.QueryInformationJobObject(job, windows.JobObjectBasicProcessIdList,
		uintptr(unsafe.Pointer(&list)), uint32(unsafe.Sizeof(list)), nil)
	if err != nil && err != windows.ERROR_MORE_DATA {
		return nil
	}
	for _, pid := range list.pids[:min(list.listed, mostListed)] {
		pids = append(pids, int(pid))
	}
	return pids
}

// Terminate does nothing here: there is no asking a process to end.
func (t Tree) Terminate(Asked) {}

// Kill ends all processes of the child's job.
func (t Tree) Kill() {
	if t.Child != nil {
		_ = windows.TerminateJobObject(windows.Handle(t.Child.gate.job.Load()), 1)
	}
}
