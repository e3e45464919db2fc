package child

import (
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/holdfast-go/holdfast/internal/sys"
)

// Members lists the live processes of the tree: those of the child's job, or the child alone where the run is not ours. An
// error means that there may be more of them.
func (t *Tree) Members() ([]Member, error) {
	pids, err := []int{t.Root}, error(nil)
	if t.Child != nil {
		var listed []int
		if listed, err = t.Child.gate.processes(); err == nil {
			pids = listed
		}
	}
	var members []Member
	for _, pid := range pids {
		if pid == 0 {
			continue
		}
		if p := sys.Probe(pid).Presence; p != sys.Absent && p != sys.Exited {
			members = append(members, Member{PID: pid, Command: sys.Describe(pid).Command})
		}
	}
	return members, err
}

// mostListed bounds the list of a job's processes.
const mostListed = 4096

func (g *gate) processes() (pids []int, err error) {
	job := windows.Handle(g.job.Load())
	if job == 0 { // it would mean our own
		return nil, os.ErrClosed
	}
	var list struct {
		assigned, listed uint32
		pids             [mostListed]uintptr
	}
	var pinned runtime.Pinner // the address is passed as a number: on a stack, which moves, it would soon be wrong
	pinned.Pin(&list)
	defer pinned.Unpin()
	err = windows.QueryInformationJobObject(job, windows.JobObjectBasicProcessIdList,
		uintptr(unsafe.Pointer(&list)), uint32(unsafe.Sizeof(list)), nil)
	if err != nil && err != windows.ERROR_MORE_DATA {
		return nil, os.NewSyscallError("QueryInformationJobObject", err)
	}
	for _, pid := range list.pids[:min(list.listed, mostListed)] {
		pids = append(pids, int(pid))
	}
	return pids, nil
}

// Terminate does nothing here: there is no asking a process to end.
func (t *Tree) Terminate(Asked) {}

// Kill ends all processes of the child's job.
func (t *Tree) Kill() {
	if t.Child != nil {
		_ = windows.TerminateJobObject(windows.Handle(t.Child.gate.job.Load()), 1)
	}
}
