package filelock

import (
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// variants are the systems that each world is tried on.
var variants = []struct {
	name    string
	rules   rules
	twoOnly bool // three contenders have too many schedules there: more of a step can be seen by others
}{
	{"all", rules{}, false},
	{"no unnamed files", rules{noUnnamed: true}, false},
	{"no rename either", rules{noUnnamed: true, noRename: true}, true},
	{"no links", rules{noUnnamed: true, noRename: true, noLinks: true}, true},
	{"no attributes", rules{noAttributes: true}, false},
	{"no kernel locks", rules{noGuards: true}, false},
	{"Windows", rules{windows: true}, true},
}

// The parts that worlds are made of.
var (
	dead           = func(m *machine) { m.leftBehind(simLock, "99\n") }
	deadClaimant   = func(m *machine) { dead(m); m.leftBehind(claimName(simLock, []byte("99\n")), "98\n") }
	a              = func(m *machine) { m.add("A", 11, contenderScript) }
	b              = func(m *machine) { m.add("B", 12, contenderScript) }
	c              = func(m *machine) { m.add("C", 13, contenderScript) }
	once           = func(m *machine) { m.actors[len(m.actors)-1].wait = 0 }
	sameNumber     = func(m *machine) { m.add("B", 11, contenderScript).me.PIDSpace = 2 }
	inAnotherSpace = func(m *machine) { m.actors[len(m.actors)-1].me.PIDSpace = 2 }
	restarted      = func(m *machine) { m.later("A again", 11, contenderScript) }
	aTwice         = func(m *machine) { m.add("A", 11, func(a *actor) { contenderScript(a); contenderScript(a) }) }
	older          = func(m *machine) { m.add("rc8", 21, nodeScript(false)) }
	newer          = func(m *machine) { m.add("later", 22, nodeScript(true)) }
	newerApart     = func(m *machine) { m.add("later", 22, nodeScript(true)).me.PIDSpace = 2 }
	again          = func(m *machine) { m.later("99 again", 99, nodeScript(false)) }
	again2         = func(m *machine) { m.later("99 once more", 99, nodeScript(false)) }
	guardNotTold   = func(m *machine) { m.fails = "tryShared" }
	operator       = func(m *machine) { m.add("operator", 31, operatorScript) }
)

func with(parts ...func(*machine)) func(*machine) {
	return func(m *machine) {
		for _, p := range parts {
			p(m)
		}
	}
}

// worlds of two contenders have all budgets, those of three one at a time.
var worlds = []world{
	{name: "A B", actors: with(a, b), kills: 2},
	{name: "A B, a fault", actors: with(a, b), kills: 1, faults: 1},
	{name: "dead holder: A B", actors: with(dead, a, b), kills: 2},
	{name: "dead holder: A B, a fault", actors: with(dead, a, b), kills: 1, faults: 1},
	{name: "dead claimant: A B", actors: with(deadClaimant, a, b), kills: 2},
	{name: "dead claimant: A B, a fault", actors: with(deadClaimant, a, b), faults: 1},
	{name: "dead holder, number used again: A B", actors: with(dead, a, once, b, once, again), kills: 1},
	{name: "dead holder, number used twice: A B", actors: with(dead, a, once, b, once, again, again2), full: true},
	{name: "dead holder, number used again: A B, a fault", actors: with(dead, a, once, b, once, again), faults: 1},
	{name: "A restarts with its number: B", actors: with(a, restarted, b), kills: 1},
	{name: "A, and B with its number in another namespace", actors: with(a, sameNumber), kills: 1, apart: true},
	{name: "A, and B in another namespace", actors: with(a, b, inAnotherSpace), kills: 1, apart: true},
	{name: "A, and B in another namespace, the guard not told", actors: with(guardNotTold, a, b, inAnotherSpace), faults: 2, apart: true},
	{name: "A B, an operator deletes", actors: with(a, b, operator), blame: []string{"operator"}, why: "it deletes the lock between the last look of a release and the removal"},
	{name: "A, rc8", actors: with(a, older), kills: 1, older: true},
	{name: "A, later", actors: with(a, newer), kills: 1},
	{name: "dead holder: A, later", actors: with(dead, a, newer), kills: 1, node: true},
	{name: "dead holder: A, later, rc8", actors: with(dead, a, once, newer, older), node: true},
	{name: "dead holder: A B C", actors: with(dead, a, once, b, once, c, once), full: true},
	{name: "dead holder: A B C, a kill", actors: with(dead, a, once, b, once, c, once), kills: 1, full: true},
	{name: "dead holder: A B C, a fault", actors: with(dead, a, once, b, once, c, once), faults: 1, full: true},
	{name: "dead holder, number used again: A B C", actors: with(dead, a, once, b, once, c, once, again), full: true},

	{name: "dead holder, number used again: later, A twice", actors: with(dead, newer, aTwice, again), blame: []string{"later"}, why: "it compares bytes, and the number was used again", only: "all"},
	{name: "A, later in another namespace", actors: with(a, newerApart), blame: []string{"later", noNamespace}, why: "a number of another namespace is judged: by Node always, by us where Node wrote it", only: "all"},
	{name: "dead holder: A B, an operator deletes", actors: with(dead, a, once, b, once, operator), blame: []string{"operator"}, why: "it deletes a dead lock between the last look and the act"},
	{name: "A, rc8, an operator deletes", actors: with(a, older, operator), blame: []string{"operator", "rc8"}, why: "it removes whatever lies there when it releases", only: "all"},
}

// stuckIn says what the contract leaves to a person.
func stuckIn(w world, r rules) string {
	switch {
	case r.noGuards && w.kills+w.faults > 0, r.noGuards && strings.HasPrefix(w.name, "dead claimant"):
		return "without kernel locks a dead claim is left to a person"
	case r.noLinks && w.kills+w.faults > 0, r.noRename && w.faults > 0:
		return "a kill between create and write leaves an empty lock"
	case w.older && w.kills > 0, w.node && w.kills > 0:
		return ""
	case w.apart && w.kills > 0 && (r.noGuards || r.noAttributes || r.windows):
		return "a number of another namespace is not judged"
	}
	return ""
}

// sound reports whether the contract promises exclusion for a world on a system at all.
func sound(w world, r rules) bool {
	// without the attribute a number of another namespace is judged like our own, unless the guard says that it lives
	return !w.apart || !r.noAttributes && !r.windows || !r.noGuards
}

// Every schedule of every world on every system: never two inside, no live holder's lock removed by us, the next contender
// always gets in, whoever follows a dead holder knows, nothing is left when nothing went wrong.
func TestInterleavings(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the same on every system")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(800)) // each run makes a small machine and drops it
	only, mutated := os.LookupEnv(mutantEnv)
	limit, full := 20*time.Second, wholeProof() || mutated
	if full {
		limit = 10 * time.Minute
	}
	deadline := time.Now().Add(limit)
	var jobs []world
	for _, v := range variants {
		for _, w := range worlds {
			if only != "" && w.name != only || w.only != "" && w.only != v.name || w.full && (!full || v.twoOnly) || !sound(w, v.rules) {
				continue
			}
			w.rules, w.variant = v.rules, v.name
			w.stuck = stuckIn(w, w.rules) != ""
			jobs = append(jobs, w)
		}
	}
	// the small ones first: what they leave of their share of the time is the others'
	slices.SortStableFunc(jobs, func(a, b world) int { return a.size() - b.size() })
	var mu sync.Mutex
	var next int
	var lines []string
	var all sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for range workers {
		all.Go(func() {
			for {
				mu.Lock()
				if next == len(jobs) || t.Failed() {
					mu.Unlock()
					return
				}
				w := jobs[next]
				left := time.Until(deadline)
				share := min(left, limit/8) // no world may starve the others
				if !full {
					share = left * time.Duration(workers) / time.Duration(len(jobs)-next)
				}
				next++
				mu.Unlock()
				line := tryWorld(t, w, share)
				mu.Lock()
				lines = append(lines, line)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	slices.Sort(lines)
	cut := slices.DeleteFunc(slices.Clone(lines), func(l string) bool { return !strings.HasSuffix(l, cutShort) })
	t.Logf("%d worlds, %d of them cut short by the time given\n%s", len(lines), len(cut), strings.Join(lines, "\n"))
}

// wholeProof says that minutes may be spent, not seconds.
func wholeProof() bool { return os.Getenv("HOLDFAST_PROOF") != "" }

// size orders worlds by how many schedules they may have.
func (w world) size() int {
	m := newMachine(w.rules)
	w.actors(m)
	size := len(m.actors)*4 + w.kills*2 + w.faults*6
	for _, r := range []bool{w.rules.noUnnamed, w.rules.noRename, w.rules.noLinks, w.rules.windows} {
		if r {
			size++
		}
	}
	return size
}

func tryWorld(t *testing.T, w world, budget time.Duration) string {
	r := explore(w, budget)
	name := w.name + " | " + w.variant
	assert.Empty(t, r.violation, "%s:\n%s", name, strings.Join(r.trace, "\n"))
	assert.Subset(t, w.blame, r.blamed, name)
	if r.complete && !w.rules.windows { // where removal is by handle, some windows are closed
		assert.ElementsMatch(t, w.blame, r.blamed, "%s: %s", name, w.why)
	}
	return r.line(name)
}

// The number of schedules is not by chance: the same world has the same ones each time.
func TestExplorerIsDeterministic(t *testing.T) {
	w := world{actors: with(dead, a, once, b, once), kills: 1}
	first, second := explore(w, time.Minute), explore(w, time.Minute)
	require.True(t, first.complete && second.complete)
	assert.Equal(t, first.runs, second.runs)
	assert.Equal(t, first.states, second.states)
}
