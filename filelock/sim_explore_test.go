package filelock

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/sys"
)

// world is a machine with actors, and how much may go wrong in it.
type world struct {
	name   string
	rules  rules
	actors func(*machine)
	kills  int // how many Go actors may be killed
	faults int // how many of their steps may fail, before or after their effect
	// blame names those through whom a live holder's lock is removed here, and why; nobody else may be.
	blame   []string
	why     string
	older   bool // a Node peer that does not take over
	node    bool // a Node peer that takes over beside a dead holder
	apart   bool // actors in two pid namespaces
	variant string
	only    string // the only variant of the system that it is tried on
	full    bool   // not in a short run
	stuck   bool   // what a kill or fault can leave here needs a person, as the contract says
}

// result is what an exploration found.
type result struct {
	runs, states int
	violation    string
	trace        []string
	complete     bool
	blamed       []string
}

// cutShort ends the line of a world whose schedules were not all tried.
const cutShort = "cut short"

func (r result) line(name string) string {
	end := "all"
	if !r.complete {
		end = cutShort
	}
	return fmt.Sprintf("%-75s %8d runs %8d states, %s", name, r.runs, r.states, end)
}

// explorer tries every schedule of a world by replaying a prefix of choices and going on with the first option, and does
// not go on from states that it has seen.
type explorer struct {
	world   world
	seen    map[uint64]struct{}
	prefix  []int
	widths  []int
	workers []*worker
	blamed  map[string]bool
}

// worker is a coroutine that runs the scripts of one actor of each run: a switch costs no more than a call, and its stack
// has grown already.
type worker struct {
	next    func() (struct{}, bool)
	stop    func()
	park    func(struct{}) bool
	script  func()
	verdict choice
}

func newWorker() *worker {
	w := &worker{}
	w.next, w.stop = iter.Pull(func(park func(struct{}) bool) {
		w.park = park
		for again := true; again; again = park(struct{}{}) {
			w.script()
		}
	})
	return w
}

func explore(w world, limit time.Duration) (r result) {
	e := &explorer{world: w, seen: map[uint64]struct{}{}, blamed: map[string]bool{}}
	defer func() {
		for _, w := range e.workers {
			w.stop()
		}
	}()
	for began := time.Now(); time.Since(began) < limit; {
		violation, _ := e.run(false)
		r.runs++
		if violation != "" {
			r.violation, r.trace = e.run(true)
			break
		}
		if !e.backtrack() {
			r.complete = true
			break
		}
	}
	r.states = len(e.seen)
	r.blamed = slices.Sorted(maps.Keys(e.blamed))
	return r
}

// backtrack makes the prefix of the next schedule: the last choice that has another option takes it.
func (e *explorer) backtrack() bool {
	for n := len(e.widths) - 1; n >= 0; n-- {
		if e.prefix[n]+1 < e.widths[n] {
			e.prefix = append(e.prefix[:n:n], e.prefix[n]+1)
			return true
		}
	}
	return false
}

// option is one thing that can happen next.
type option struct {
	actor *actor
	choice
}

func (e *explorer) run(tracing bool) (violation string, trace []string) {
	m := newMachine(e.world.rules)
	m.tracing = tracing
	e.world.actors(m)
	for n, a := range m.actors {
		if n == len(e.workers) {
			e.workers = append(e.workers, newWorker())
		}
		a.start(e.workers[n])
	}
	defer m.abort()
	kills, faults := e.world.kills, e.world.faults
	known := e.prefix
	e.prefix, e.widths = e.prefix[:0:0], e.widths[:0]
	for n := 0; ; n++ {
		options := m.options(kills, faults)
		if len(options) == 0 {
			break
		}
		pick := 0
		if n < len(known) {
			pick = known[n]
		}
		e.prefix, e.widths = append(e.prefix, pick), append(e.widths, len(options))
		o := options[pick]
		if o.kill {
			kills--
		}
		if o.fault != sys.Other {
			faults--
		}
		m.do(o)
		if m.blamed != "" {
			// what follows from it is nobody else's fault
			e.blamed[m.blamed] = true
			return "", nil
		}
		if m.broken != "" {
			return m.broken, m.trace
		}
		if n >= len(known)-1 && !tracing {
			k := m.key(kills, faults)
			if _, ok := e.seen[k]; ok {
				return "", nil
			}
			e.seen[k] = struct{}{}
		}
	}
	m.aftermath(e.world, e.world.kills-kills, e.world.faults-faults)
	return m.broken, m.trace
}

// options are all that can happen next, the plain steps first.
func (m *machine) options(kills, faults int) (list []option) {
	for _, a := range m.actors {
		if !a.ended {
			list = append(list, option{actor: a})
		}
	}
	for _, a := range m.actors {
		if a.ended || a.node {
			continue
		}
		if kills > 0 {
			list = append(list, option{a, choice{kill: true}})
		}
		if faults > 0 && (m.fails == "" || m.fails == a.next.op) {
			for _, kind := range a.next.faults {
				list = append(list, option{a, choice{fault: kind}}, option{a, choice{fault: kind, after: true}})
			}
		}
	}
	return list
}

// start runs the actor up to its first step.
func (a *actor) start(w *worker) {
	a.on = w
	a.alive[a.number()] = a
	w.script = a.play
	w.next()
}

// play runs the actor's script to its end, which may be a kill.
func (a *actor) play() {
	defer func() {
		r := recover()
		if _, killed := r.(killedActor); r != nil && !killed {
			a.violated("%s panicked: %v", a.name, r)
		}
		a.ended = true
		if !a.dead {
			a.exit()
		}
	}()
	a.script(a)
}

func (m *machine) do(o option) {
	if o.kill {
		m.note(o.actor, "is killed before %s", o.actor.next.op)
		o.actor.kill()
	}
	o.actor.on.verdict = o.choice
	o.actor.on.next()
}

// kill ends the process: what it had is on disk, and nothing else of it has an effect.
func (a *actor) kill() {
	a.killed = true
	for name, i := range a.names {
		if strings.Contains(name, ".takeover-") && slices.ContainsFunc(a.files, func(f *simFile) bool { return f.i == i }) {
			a.claims++
		}
	}
	a.exit()
}

// abort ends whatever is still under way.
func (m *machine) abort() {
	for _, a := range m.actors {
		if !a.ended {
			a.dead = true
			a.on.verdict = choice{kill: true}
			a.on.next()
		}
	}
}

// key is the state of the machine and of all that its actors know.
func (m *machine) key(kills, faults int) uint64 {
	h := hash(14695981039346656037)
	put := h.number
	bit := func(b bool) uint64 {
		if b {
			return 1
		}
		return 0
	}
	inode := func(i *simInode) {
		put(i.id)
		h.text(i.content)
		put(uint64(len(i.attr))<<1 | bit(i.unlinked))
		if i.guard != nil {
			put(i.guard.a.index + 1)
		}
		for _, f := range i.shared {
			put(f.a.index)
		}
	}
	names := make([]string, 0, len(m.names))
	for name := range m.names {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		h.text(name)
		inode(m.names[name])
	}
	for _, a := range m.actors {
		put(a.history)
		put(bit(a.failed)<<5 | bit(a.ended)<<4 | bit(a.dead)<<3 | bit(a.killed)<<2 | bit(a.inside)<<1 | bit(a.got))
		put(bit(m.alive[a.number()] == a))
		for _, f := range a.files {
			inode(f.i)
		}
	}
	put(uint64(kills)<<8 | uint64(faults)<<1 | bit(m.operator))
	return uint64(h)
}

// aftermath is what must be true when all actors have ended.
func (m *machine) aftermath(w world, kills, faults int) {
	if kills == 0 && faults == 0 && !m.operator && !w.stuck {
		for name, i := range m.names {
			if m.initial[name] != i { // whose number may have been used again all the time
				m.violated("nothing went wrong, and %s is left", name)
			}
		}
	}
	claimants := 0
	for _, a := range m.actors {
		claimants += a.claims
	}
	m.auto = true
	last := m.add("last", 10_000, contenderScript)
	last.wait = 0
	last.alive[last.number()] = last
	last.play()
	if w.stuck {
		return
	}
	if !last.got {
		m.violated("the last contender did not get in")
	}
	for name, i := range m.names {
		switch {
		case strings.Contains(name, ".takeover-"):
			if claimants--; claimants+faults < 0 && m.initial[name] != i {
				m.violated("%s is left, more claims than killed claimants", name)
			}
		case strings.HasSuffix(name, ".tmp"):
			if kills+faults == 0 || faults == 0 && !m.rules.noUnnamed && !m.rules.windows {
				m.violated("%s is left", name)
			}
		default:
			m.violated("%s is left", name)
		}
	}
}
