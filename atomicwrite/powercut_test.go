package atomicwrite

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// powerCut cuts the power after each operation of one replacement.
type powerCut struct {
	place   cutPlace
	way     cutWay
	policy  SyncPolicy
	ordered bool
}

func (p powerCut) String() string {
	policy := [...]string{"SyncAll", "SyncFile", "SyncNone"}[p.policy]
	return fmt.Sprintf("%s, %s, %s, data before names: %v", p.place.name, p.way.name, policy, p.ordered)
}

func powerCuts() (all []powerCut) {
	for _, place := range cutPlaces() {
		for _, way := range cutWays() {
			for _, policy := range []SyncPolicy{SyncAll, SyncFile, SyncNone} {
				all = append(all, powerCut{place, way, policy, false}, powerCut{place, way, policy, true})
			}
		}
	}
	return all
}

// aftermath is what power cuts left, each kind once, by the time of the cut.
type aftermath struct {
	during, returned []string
	err              error
	cuts, states     int
	open             int
}

func (p powerCut) run(t twist) (a aftermath) {
	d := p.place.disk(p.ordered)
	seen, returned := map[string]bool{}, false
	cut := func() {
		a.cuts++
		for _, left := range d.outcomes() {
			a.states++
			seen[p.judge(left, returned && a.err == nil)] = true
		}
	}
	d.stepped = cut
	cut()
	t.system = d
	a.err = p.way.run(t, p.place.path(), newOptions(append([]Option{Sync(p.policy)}, p.place.opts...)))
	a.during = slices.Sorted(maps.Keys(seen))

	seen, returned = map[string]bool{}, true
	d.stepped = nil
	cut()
	a.returned, a.open = slices.Sorted(maps.Keys(seen)), d.open
	return a
}

// promised are the kinds of outcome that the policy allows. All of them must be seen, or else nothing was tested.
func (p powerCut) promised(returned bool) []string {
	old := "old"
	if p.place.missing {
		old = "absent"
	}
	inherited := p.place.unsynced && (p.way.abandons || !returned)
	switch {
	case inherited && p.ordered:
		return []string{"new", old}
	case inherited:
		return []string{"empty", "incomplete", "new", old}
	case p.way.abandons:
		return []string{old}
	case p.policy == SyncAll && returned:
		return []string{"new"}
	case p.policy == SyncNone && !p.ordered:
		return []string{"empty", "incomplete", "new", old}
	}
	return []string{"new", old}
}

var cutTemp = regexp.MustCompile(`^\.[0-9a-f]{12}\.tmp$`)

// judge names the kind of what a cut left, or what is wrong with it.
func (p powerCut) judge(left *disk, succeeded bool) string {
	files := left.files()
	temps := 0
	for path, n := range files {
		suffix, beside := strings.CutPrefix(path, p.place.target)
		switch {
		case beside && cutTemp.MatchString(suffix):
			temps++
			if !strings.HasPrefix(newContent, string(n.data)) || n.now().mode&^p.place.want != 0 {
				return fmt.Sprintf("a temp with mode %v and %q", n.now().mode, n.data)
			}
		case path != p.place.target && n.link == "":
			return "a stray file " + path
		}
	}
	// Nothing makes it durable that the temp of an abandoned replacement is removed, or of one that changes nothing.
	if succeeded && p.policy == SyncAll && temps > 0 && !p.way.abandons && !p.place.unsynced {
		return "a temp is left"
	}
	if err := p.next(left); err != nil {
		return "the next writer: " + err.Error()
	}
	return p.kind(files[p.place.target])
}

func (p powerCut) kind(n *node) string {
	if n == nil {
		return "absent"
	}
	data, mode := string(n.data), n.now().mode
	exactly := p.policy != SyncNone || p.ordered // or else the mode may be lost like the data
	switch {
	case data == oldContent && mode == cutOldMode:
		return "old"
	case !strings.HasPrefix(newContent, data):
		return fmt.Sprintf("%q with mode %v", data, mode)
	case mode&^p.place.want != 0, data == newContent && exactly && mode != p.place.want:
		return fmt.Sprintf("mode %v", mode)
	case data == "":
		return "empty"
	case data != newContent:
		return "incomplete"
	}
	return "new"
}

// next writes once more after the cut.
func (p powerCut) next(d *disk) error {
	const content = "next"
	want := d.files()
	want[p.place.target] = nil
	if err := writeFile(d, p.place.path(), []byte(content), cutStated, newOptions(p.place.opts)); err != nil {
		return err
	}
	n, err := d.find(p.place.target)
	switch {
	case err != nil:
		return err
	case string(n.data) != content:
		return fmt.Errorf("wrote %q", n.data)
	case len(d.files()) != len(want):
		return fmt.Errorf("left %d files, not %d", len(d.files()), len(want))
	}
	return nil
}

// TestPowerCut: a cut leaves the old content or the new, whole, with SyncAll and SyncFile on any disk and with SyncNone on
// one that writes data before names; with SyncAll it leaves the new once the call has returned.
func TestPowerCut(t *testing.T) {
	cuts, states := 0, 0
	for _, p := range powerCuts() {
		got := p.run(twist{})
		require.NoError(t, got.err, p)
		assert.ElementsMatch(t, p.promised(false), got.during, "%v, before the return", p)
		assert.ElementsMatch(t, p.promised(true), got.returned, "%v, after it", p)
		assert.Zero(t, got.open, "%v: open handles", p)
		cuts, states = cuts+got.cuts, states+got.states
	}
	t.Logf("%d replacements, %d power cuts, %d outcomes", len(powerCuts()), cuts, states)
}
