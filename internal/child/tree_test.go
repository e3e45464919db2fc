package child

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/holdfast-go/holdfast/internal/sys"
)

func TestMembers(t *testing.T) {
	// PID, parent, group; we are 30, below 20 and 1
	all := []sys.Listed{
		{PID: 1, Group: 1},
		{PID: 20, Parent: 1, Group: 20},
		{PID: 30, Parent: 20, Group: 20},
		{PID: 40, Parent: 30, Group: 40}, // the child
		{PID: 41, Parent: 40, Group: 40},
		{PID: 42, Parent: 41, Group: 42, Start: 7}, // a group of its own
		{PID: 39, Parent: 42, Group: 42},           // a number before its parents'
		{PID: 50, Parent: 1, Group: 40},            // an orphan
		{PID: 51, Parent: 1, Group: 51},            // an orphan in a group of its own
		{PID: 52, Parent: 51, Group: 51},
		{PID: 60, Parent: 30, Group: 20}, // another child of ours
		{PID: 61, Parent: 20, Group: 20}, // our sibling
		{PID: 70, Parent: 71, Group: 70}, // parents that were not listed at one time
		{PID: 71, Parent: 70, Group: 70},
		{PID: 80, Parent: 79, Group: 80},
		{PID: 90, Parent: 1, Group: 1},
	}
	mark := Mark{"RUN", "w"}
	for _, c := range []struct {
		name   string
		tree   Tree
		marked []int
		want   []int
	}{
		{"nothing", Tree{}, []int{40}, nil},
		{"descendants", Tree{Root: 40}, nil, []int{40, 41, 42, 39}},
		{"group", Tree{Group: 40}, nil, []int{40, 41, 42, 39, 50}},
		{"orphan's mark", Tree{Root: 40, Mark: mark}, []int{51}, []int{40, 41, 42, 39, 51, 52}},
		{"mark alone", Tree{Mark: mark}, []int{41}, []int{41, 42, 39}},
		{"our mark and our parents'", Tree{Mark: mark}, []int{1, 20, 30}, nil},
		{"a child that is not listed", Tree{Root: 79}, nil, []int{80}},
		{"our parent's run", Tree{Root: 20}, nil, []int{61}},
		{"our group", Tree{Group: 20}, nil, []int{60, 61}},
		{"our child's group", Tree{Group: 42, Start: 7}, nil, []int{42, 39}},
		{"a later process' group", Tree{Group: 42, Start: 6}, nil, nil},
		{"everybody's parent", Tree{Root: 1}, nil, nil},
		{"everybody's group", Tree{Group: 1}, nil, nil},
		{"parents in a circle", Tree{Mark: mark}, []int{71}, []int{70, 71}},
		{"gone", Tree{Root: 99, Group: 99, Mark: mark}, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []int
			isMarked := func(l sys.Listed) bool { return slices.Contains(c.marked, l.PID) }
			for _, l := range c.tree.members(all, 30, isMarked) {
				got = append(got, l.PID)
			}
			assert.Equal(t, c.want, got)
		})
	}
}

func TestMark(t *testing.T) {
	m := Mark{"RUN", "b:2"}
	for _, c := range []struct {
		block string
		want  bool
	}{
		{"", false},
		{"RUN=b:2\x00", true},
		{"RUN=a:1 b:2:x\x00", true},
		{"A=1\x00RUN=b:2 c:3", true},
		{"RUN=a:1\x00", false},
		{"RUN=ab:2\x00", false},
		{"OTHERRUN=b:2\x00RUNS=b:2\x00A=RUN=b:2\x00", false},
		{"RUN=\x00", false},
		{"RUN", false},
	} {
		assert.Equal(t, c.want, m.marks(c.block), "%q", c.block)
	}
	assert.True(t, m.In("b:2"))
	assert.False(t, m.In("b 2"))
}
