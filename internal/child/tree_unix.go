//go:build unix

package child

import (
	"os"
	"slices"
	"syscall"

	"github.com/holdfast-go/holdfast/internal/sys"
)

// Members lists the live processes of the tree. An error means that there may be more of them: the list could not be read.
// Without one, a look can still miss a process that starts meanwhile; whoever must know that none is left looks again.
func (t *Tree) Members() ([]Member, error) {
	found, err := t.look()
	if sys.IsKind(err, sys.Unsupported) {
		return t.known(), nil
	}
	if err != nil {
		return t.known(), err
	}
	members := make([]Member, 0, len(found))
	for _, l := range found {
		members = append(members, described(l.PID))
	}
	if t.isOurRoot() && !slices.ContainsFunc(found, func(l sys.Listed) bool { return l.PID == t.Root }) && isThere(sys.Probe(t.Root).Presence) {
		members = append(members, described(t.Root))
	}
	return members, nil
}

func described(pid int) Member { return Member{PID: pid, Command: sys.Describe(pid).Command} }

// isThere reports whether a process or a group counts as running: nobody knows is not gone.
func isThere(p sys.Presence) bool { return p != sys.Absent && p != sys.Exited }

// isOurRoot reports whether the root is a child of ours, which is there until it is reaped, whatever a list says.
func (t *Tree) isOurRoot() bool { return t.Root > 1 && t.Child != nil && t.Child.PID() == t.Root }

// look lists the tree's processes as far as there is a list of processes.
func (t *Tree) look() ([]sys.Listed, error) {
	if t.Root == 0 && t.Group > 1 && syscall.Kill(-t.Group, 0) == syscall.ESRCH {
		t.Group = 0
	}
	all, err := sys.Processes()
	if err != nil {
		return nil, err
	}
	var unseen error
	found := t.members(all, os.Getpid(), func(l sys.Listed) bool {
		marked, err := t.marked(l)
		if err != nil {
			unseen = err
		}
		return marked
	})
	return found, unseen
}

// marked reports whether a process has the mark: one that is gone, or not ours to look at, has none.
func (t *Tree) marked(l sys.Listed) (bool, error) {
	block, err := sys.Environment(l.PID)
	if sys.IsKind(err, sys.NotExist, sys.NoProcess, sys.AccessDenied, sys.NotPermitted) {
		return false, nil
	}
	return t.Mark.marks(string(block)), err
}

// known are the processes of a tree that can be asked for without a list: the child and its group's leader.
func (t *Tree) known() []Member {
	for _, pid := range []int{t.Root, t.Group} {
		if pid <= 1 {
			continue
		}
		p := sys.Probe(pid).Presence
		if pid == t.Group {
			p = sys.ProbeGroup(pid)
		}
		if isThere(p) {
			return []Member{described(pid)}
		}
	}
	return nil
}

// Terminate asks the processes of the tree to end, each of them once: asked remembers whom. One that is stopped goes on, so
// that it can. Those that start meanwhile are missed, so whoever waits for the end asks again; while there is no reading the
// list, all but the child are.
func (t *Tree) Terminate(asked Asked) { _ = t.signal(asked, syscall.SIGTERM, syscall.SIGCONT) }

// Kill ends all processes of the tree that are there, or if the list cannot be read, the child and its group.
func (t *Tree) Kill() {
	if err := t.signal(Asked{}, syscall.SIGKILL); err != nil && t.isOurRoot() {
		_ = t.signalKnown(syscall.SIGKILL)
	}
}

// signal signals those that were not asked yet: the child by its handle, whether it is listed or not. An error means that
// there may be more of them.
func (t *Tree) signal(asked Asked, signals ...syscall.Signal) error {
	found, err := t.look()
	if sys.IsKind(err, sys.Unsupported) {
		asked.once(sys.Listed{}, t.signalKnown, signals)
		return nil
	}
	ours := t.isOurRoot()
	if ours {
		asked.once(sys.Listed{PID: t.Root, Start: t.Start}, t.Child.Process().Signal, signals)
	}
	for _, l := range found {
		if !ours || l.PID != t.Root {
			asked.once(l, func(s os.Signal) error { return sys.SignalProcess(l, s.(syscall.Signal)) }, signals)
		}
	}
	return err
}

// once signals a process that was not asked yet, and notes whether it was.
func (a Asked) once(l sys.Listed, signal func(os.Signal) error, signals []syscall.Signal) {
	who := sys.Listed{PID: l.PID, Start: l.Start} // parent and group may change
	if a[who] {
		return
	}
	for _, s := range signals {
		if signal(s) != nil {
			return
		}
	}
	a[who] = true
}

// signalKnown signals the child and its group, where there is no list.
func (t *Tree) signalKnown(s os.Signal) error {
	switch {
	case t.Group > 1:
		return syscall.Kill(-t.Group, s.(syscall.Signal))
	case t.Root > 1:
		return syscall.Kill(t.Root, s.(syscall.Signal))
	}
	return nil
}
