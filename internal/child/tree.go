package child

import (
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/internal/sys"
)

// Tree says what belongs to a run: the child, its descendants and its process group, and whoever has the run's mark in the
// environment that it was started with. Descendants whose parents have ended are found by group or mark only.
//
// The list of processes and their environments are read from Linux' /proc, as far as it shows them to us: not those of
// programs that run as another user, except the child itself. Elsewhere a tree is the child and its group, on Windows the
// child's job.
//
// A group keeps its number from being given again only while it has members. Once the child is reaped, a group that has
// none, or whose number a later process has, is forgotten: the number may become a stranger's. Between two looks that goes
// unnoticed where there is no list of processes, and where the stranger's leader has ended already.
type Tree struct {
	Root  int    // the child while it is not reaped; 0: none, and 1, whose descendants are all there are
	Group int    // 0: none, and 1, which is asked for as everybody
	Start uint64 // when the child was started, as in sys.Process; 0 is unknown
	Mark  Mark
	Child *Child // nil where the run is not ours
}

// Mark is a variable whose value has one word for each run that a process is part of, the outermost first. A word with
// this beginning marks the tree.
type Mark struct{ Variable, Word string }

// Asked are the processes that were asked to end.
type Asked map[sys.Listed]bool

// Member is a live process of a tree.
type Member struct {
	PID     int
	Command string // empty if unknown
}

// marks reports whether a block of variables has the mark.
func (m Mark) marks(block string) bool {
	for v := range strings.SplitSeq(block, "\x00") {
		if value, ok := strings.CutPrefix(v, m.Variable+"="); ok && m.In(value) {
			return true
		}
	}
	return false
}

// In reports whether the variable's value has the mark.
func (m Mark) In(value string) bool {
	return slices.ContainsFunc(strings.Fields(value), func(word string) bool { return strings.HasPrefix(word, m.Word) })
}

// members picks a tree's processes out of all: marked says whether one has the mark. Neither we nor our parents are part
// of a tree, though one of them may have a mark.
func (t *Tree) members(all []sys.Listed, self int, marked func(sys.Listed) bool) []sys.Listed {
	byPID := make(map[int]sys.Listed, len(all))
	for _, l := range all {
		byPID[l.PID] = l
	}
	for at := self; ; {
		l, ok := byPID[at]
		if !ok {
			break
		}
		delete(byPID, at)
		at = l.Parent
	}
	if l, ok := byPID[t.Group]; ok && t.Start != 0 && l.Start != t.Start {
		t.Group = 0
	}
	const unknown, in, out = 0, 1, 2
	state := make(map[int]int, len(byPID))
	var belongs func(pid int) bool
	belongs = func(pid int) bool {
		l, ok := byPID[pid]
		switch {
		case !ok:
			return pid > 1 && pid == t.Root
		case state[pid] != unknown:
			return state[pid] == in
		}
		state[pid] = out // for the time being: no circle of parents goes on for ever
		if pid > 1 && pid == t.Root || t.Group > 1 && l.Group == t.Group || t.Mark.Word != "" && marked(l) || belongs(l.Parent) {
			state[pid] = in
		}
		return state[pid] == in
	}
	var found []sys.Listed
	for _, l := range all {
		if _, ok := byPID[l.PID]; ok && belongs(l.PID) {
			found = append(found, l)
		}
	}
	return found
}
