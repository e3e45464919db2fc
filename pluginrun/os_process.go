package pluginrun

import (
	"io"
	"os"
	"sync"

	"github.com/holdfast-go/holdfast/internal/child"
	"github.com/holdfast-go/holdfast/internal/sys"
)

// running is a started program.
type running struct {
	*child.Child
	stdout, stderr *os.File // our ends; nil for an attached run
	asked          child.Asked
	mu             sync.Mutex // held while the tree is looked at or signalled: the child is not reaped meanwhile
	tree           child.Tree
}

func (osSystem) start(s start) (process, error) {
	files, ours, theirs, err := streams(s.attached)
	if err != nil {
		return nil, err
	}
	c, err := child.Start(child.Spec{Path: s.path, Args: s.args, Env: s.env, Dir: s.dir, Files: files, Group: !s.attached})
	closeAll(theirs)
	if err != nil {
		closeAll(ours)
		return nil, err
	}
	r := &running{Child: c, asked: child.Asked{}, tree: child.Tree{
		Root: c.PID(), Start: sys.Probe(c.PID()).Start, Mark: child.Mark{Variable: Variable, Word: s.mark}, Child: c,
	}}
	if !s.attached {
		r.tree.Group = c.PID()
		r.stdout, r.stderr = ours[0], ours[1]
	}
	return r, nil
}

// streams are a program's standard streams, and which files are to be closed: ours at the end, theirs after the start.
func streams(attached bool) (files [3]*os.File, ours, theirs []*os.File, err error) {
	if attached {
		return [3]*os.File{os.Stdin, os.Stdout, os.Stderr}, nil, nil, nil
	}
	if files[0], err = os.Open(os.DevNull); err != nil {
		return files, nil, nil, err
	}
	theirs = append(theirs, files[0])
	for i := 1; i < len(files); i++ {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(ours)
			closeAll(theirs)
			return files, nil, nil, err
		}
		files[i] = w
		ours, theirs = append(ours, r), append(theirs, w)
	}
	return files, ours, theirs, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

func (r *running) pid() int    { return r.PID() }
func (r *running) open() error { return r.Open() }
func (r *running) abandon()    { r.Abandon() }

func (r *running) close() {
	r.closeOutput()
	r.Close()
}

// reap waits for the end. The child's number is part of its tree until it may be another's.
func (r *running) reap() (exitCode int, signal string) {
	if r.Wait() == nil {
		r.reaped()
	}
	state, err := r.Reap()
	r.reaped()
	if err != nil {
		return -1, ""
	}
	return exitStatus(state)
}

func (r *running) reaped() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tree.Root = 0
}

func (r *running) output() (stdout, stderr io.Reader) { return r.stdout, r.stderr }

func (r *running) closeOutput() {
	if r.stdout != nil {
		r.stdout.Close()
		r.stderr.Close()
	}
}

func (r *running) members() ([]Process, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	members, err := r.tree.Members()
	return processes(members), err
}

func (r *running) terminate() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tree.Terminate(r.asked)
	return canAsk
}

func (r *running) kill() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tree.Kill()
}

func processes(members []child.Member) (list []Process) {
	for _, m := range members {
		list = append(list, Process{m.PID, m.Command})
	}
	return list
}

func (osSystem) marked(mark string) ([]Process, error) {
	t := child.Tree{Mark: child.Mark{Variable: Variable, Word: mark}}
	members, err := t.Members()
	return processes(members), err
}

func (osSystem) recorded(r recordedRun) []Process {
	t := child.Tree{Root: int(r.pid)}
	if r.grouped && hasGroups {
		t.Group = t.Root
	}
	members, _ := t.Members() // those that are known: that it runs is known already
	return processes(members)
}
