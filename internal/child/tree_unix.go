//go:build unix

package child

import (
	"os"
	"syscall"

	"github.com/holdfast-go/holdfast/internal/sys"
)

// Members lists the live processes of the tree. One look can miss a process that starts meanwhile; whoever must know that
// none is left looks again.
func (t Tree) Members() []Member {
	all, err := sys.Processes()
	if err != nil {
		return t.known()
	}
	var members []Member
	for _, l := range t.members(all, os.Getpid(), t.marked) {
		members = append(members, Member{l.PID, sys.Describe(l.PID).Command})
	}
	return members
}

func (t Tree) marked(l sys.Listed) bool {
	block, err := sys.Environment(l.PID)
	return err == nil && t.Mark.marks(string(block))
}

// known are the processes of a tree that can be asked for without a list: the child and its group's leader.
func (t Tree) known() []Member {
	for _, pid := range []int{t.Root, t.Group} {
		if pid <= 1 {
			continue
		}
		p := sys.Probe(pid).Presence
		if pid == t.Group {
			p = sys.ProbeGroup(pid)
		}
		if p == sys.Present || p == sys.Forbidden {
			return []Member{{PID: pid, Command: sys.Describe(pid).Command}}
		}
	}
	return nil
}

// Terminate asks the processes of the tree to end, each of them once: asked remembers whom. Those that start meanwhile are
// missed, so whoever waits for the end asks again.
func (t Tree) Terminate(asked Asked) {
	t.signal(syscall.SIGTERM, func(l sys.Listed) bool {
		who := sys.Listed{PID: l.PID, Start: l.Start} // parent and group may change
		before := asked[who]
		asked[who] = true
		return !before
	})
}

// Kill ends all processes of the tree that are there.
func (t Tree) Kill() { t.signal(syscall.SIGKILL, func(sys.Listed) bool { return true }) }

func (t Tree) signal(sig syscall.Signal, wanted func(sys.Listed) bool) {
	all, err := sys.Processes()
	if err != nil {
		if wanted(sys.Listed{}) {
			t.signalKnown(sig)
		}
		return
	}
	for _, l := range t.members(all, os.Getpid(), t.marked) {
		if wanted(l) {
			_ = sys.SignalProcess(l, sig)
		}
	}
}

// signalKnown signals the child and its group, where there is no list.
func (t Tree) signalKnown(sig syscall.Signal) {
	switch {
	case t.Group > 1:
		_ = syscall.Kill(-t.Group, sig)
	case t.Root > 1:
		_ = syscall.Kill(t.Root, sig)
	}
}
