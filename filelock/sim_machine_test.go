package filelock

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/sys"
)

// rules are what a simulated system has and has not.
type rules struct {
	noUnnamed, noRename, noLinks, noAttributes, noGuards bool
	windows                                              bool // a removed name stays while a handle is open, and refuses everything
}

// machine is a simulated computer with one directory. Every step of an actor is atomic; who goes next, who is killed and
// what fails is the explorer's choice.
type machine struct {
	rules    rules
	names    map[string]*simInode
	actors   []*actor
	alive    map[number]*actor
	auto     bool // the actor under way is not scheduled: the last contender, alone
	trace    []string
	tracing  bool
	broken   string               // the first violation
	operator bool                 // somebody has deleted the lock by hand
	initial  map[string]*simInode // what a dead holder and a dead claimant left before the actors began
	blamed   string               // the Node peer that has removed a live lock
	fails    string               // the only step that can be made to fail; empty: all
	untold   bool                 // a dead holder's lock was ended, and nobody who followed has been told
	parted   bool                 // it was ended by two removals, with the name free in between
}

// number is a process number in its namespace.
type number struct {
	space uint32
	pid   int
}

const simDevice = 7

// noNamespace is to blame where a record names a number and not whose.
const noNamespace = "the record's form"

type simInode struct {
	id       uint64
	content  string
	attr     string
	unlinked bool // Windows: removed, its name stays until the last handle is closed
	handles  int
	guard    *simFile
	shared   []*simFile
	holder   *actor // whose lock this is, until it is released or its owner ends
}

func newMachine(r rules) *machine {
	return &machine{rules: r, names: map[string]*simInode{}, alive: map[number]*actor{}, initial: map[string]*simInode{}}
}

func (m *machine) note(a *actor, format string, args ...any) {
	if m.tracing {
		m.trace = append(m.trace, fmt.Sprintf("%3d  %-8s %s", len(m.trace)+1, a.name, fmt.Sprintf(format, args...)))
	}
}

// violated records what must not be; the run ends there.
func (m *machine) violated(format string, args ...any) {
	if m.broken == "" {
		m.broken = fmt.Sprintf(format, args...)
	}
}

// actor is one process. Its script runs the production code, or is a Node writer or an operator.
type actor struct {
	*machine
	name   string
	me     sys.Self
	script func(*actor)
	table  *process
	wait   time.Duration

	on      *worker
	next    pending // the step that it is about to do
	history uint64
	serial  uint64 // of its inodes
	index   uint64
	clock   time.Duration
	files   []*simFile
	ended   bool // its script is over, one way or the other
	dead    bool // killed, or exited: its steps have no effect any more
	killed  bool
	inside  bool
	got     bool // became the holder
	node    bool
	failed  bool // one of its steps was made to fail
	removed int  // dead holders' locks that it removed
	claims  int  // claims that were its own when it was killed
}

type pending struct {
	op     string
	faults []sys.Kind
}

// choice is what the explorer lets an actor's next step do.
type choice struct {
	kill  bool
	fault sys.Kind // Other: none
	after bool     // the fault is reported after the effect
}

type killedActor struct{}

// step is one atomic step of the actor: it waits to be chosen, then has its effect.
func (a *actor) step(op, name string, faults []sys.Kind, effect func() error) error {
	var c choice
	if a.dead {
		panic(killedActor{})
	}
	if !a.auto {
		a.next = pending{op, faults}
		a.on.park(struct{}{})
		c = a.on.verdict
		if c.kill {
			panic(killedActor{})
		}
	}
	var err error
	if c.fault == sys.Other || c.after {
		err = effect()
	}
	if c.fault != sys.Other {
		err, a.failed = c.fault, true
	}
	kind := sys.KindOf(err)
	a.learn(op, name, kind)
	if a.tracing {
		if err != nil {
			a.note(a, "%s %s: %v%s", op, name, err, map[bool]string{true: " (reported after its effect)"}[c.after])
		} else {
			a.note(a, "%s %s", op, name)
		}
	}
	return err
}

// learn adds to what the actor knows: two actors with the same history are in the same state.
func (a *actor) learn(facts ...any) {
	h := hash(a.history)
	for _, f := range facts {
		switch f := f.(type) {
		case string:
			h.text(f)
		case uint64:
			h.number(f)
		case int:
			h.number(uint64(f))
		case sys.Kind:
			h.number(uint64(f) + 1)
		case nil:
			h.number(0)
		default:
			panic(fmt.Sprintf("%T is no fact", f))
		}
	}
	a.history = uint64(h)
}

// hash is FNV-1a, a word at a time where it can.
type hash uint64

func (h *hash) number(n uint64) { *h = (*h ^ hash(n)) * 1099511628211; *h ^= *h >> 29 }

func (h *hash) text(s string) {
	for n := range len(s) {
		*h = (*h ^ hash(s[n])) * 1099511628211
	}
	h.number(uint64(len(s)))
}

// exit ends the actor's process: its descriptors are closed, its number is free.
func (a *actor) exit() {
	a.dead, a.inside = true, false
	for _, f := range slices.Clone(a.files) {
		f.close()
	}
	delete(a.alive, a.number())
	for _, i := range a.names {
		if i.holder == a {
			i.holder = nil
		}
	}
}

func (a *actor) number() number { return number{a.me.PIDSpace, a.me.PID} }

// The seam.

func (a *actor) self() sys.Self                    { return a.me }
func (a *actor) describe(int) sys.Description      { return sys.Description{} }
func (a *actor) now() time.Time                    { return time.Unix(0, 0).Add(a.clock) }
func (a *actor) namesLinger() bool                 { return a.rules.windows }
func (a *actor) openDir(string) (directory, error) { return simDir{a}, nil }
func (a *actor) after(time.Duration, func()) timer { return simTimer{} }

func (a *actor) random(p []byte) {
	a.serial++
	copy(p, fmt.Sprintf("%c%c", 'a'+a.index, 'a'+a.serial))
}

// A pause ends whenever the explorer likes. What the contender knows then is how often it tried and what it keeps.
func (a *actor) pause(_ context.Context, d time.Duration, _ <-chan struct{}) error {
	a.clock += d
	a.history = 0
	a.learn(int(a.clock), len(a.files), a.removed)
	return a.step("pause", "", nil, func() error { return nil })
}

func (a *actor) probe(pid int) (p sys.Process) {
	_ = a.step("probe", "", nil, func() error {
		if other := a.alive[number{a.me.PIDSpace, pid}]; other == nil {
			p = sys.Process{Presence: sys.Absent}
		} else {
			p = sys.Process{Presence: sys.Present, Start: other.me.Start}
		}
		a.learn(int(p.Presence), p.Start)
		return nil
	})
	return p
}

type simTimer struct{}

func (simTimer) Stop() bool               { return true }
func (simTimer) Reset(time.Duration) bool { return true }

type simDir struct{ a *actor }

var (
	lookFaults   = []sys.Kind{sys.IO}
	createFaults = []sys.Kind{sys.IO, sys.NoSpace, sys.NotPermitted, sys.AccessDenied}
	removeFaults = []sys.Kind{sys.IO, sys.AccessDenied}
)

func (d simDir) ID() (sys.FileID, error) { return sys.FileID{Dev: simDevice, Ino: 1}, nil }
func (d simDir) Close() error            { return nil }

// at is what a name means; on Windows one that is on its way out refuses everything.
func (d simDir) at(name string) (*simInode, error) {
	i := d.a.names[name]
	switch {
	case i == nil:
		return nil, sys.NotExist
	case i.unlinked:
		return nil, sys.NotPermitted
	}
	return i, nil
}

// Nobody is woken: a pause ends whenever the explorer likes.
func (d simDir) watch(string, func()) (func(), error)  { return nil, sys.Unsupported }
func (a *actor) watchExit(int, func()) (func(), error) { return nil, sys.Unsupported }

func (d simDir) Lstat(name string) (info sys.Info, err error) {
	err = d.a.step("lstat", name, lookFaults, func() error {
		i, err := d.at(name)
		if err == nil {
			info = i.info()
			d.a.learn(i.id)
		}
		return err
	})
	return info, err
}

func (i *simInode) info() sys.Info {
	return sys.Info{ID: sys.FileID{Dev: simDevice, Ino: i.id}, Mode: recordMode, Size: int64(len(i.content))}
}

func (d simDir) open(name string) (f file, err error) {
	err = d.a.step("open", name, lookFaults, func() error {
		i, err := d.at(name)
		if err == nil {
			d.a.learn(i.id)
			f = d.a.opened(i, name)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (a *actor) opened(i *simInode, name string) *simFile {
	f := &simFile{a, i, name}
	i.handles++
	a.files = append(a.files, f)
	return f
}

// Making an inode without a name is seen by nobody: no step.
func (d simDir) createUnnamed(fs.FileMode) (file, error) {
	if d.a.rules.noUnnamed || d.a.rules.windows {
		return nil, sys.Unsupported
	}
	return d.a.opened(d.a.inode(), ""), nil
}

func (a *actor) inode() *simInode {
	if a.dead {
		panic(killedActor{})
	}
	a.serial++
	return &simInode{id: a.index*1000 + a.serial}
}

func (d simDir) createNew(name string, _ fs.FileMode) (f file, err error) {
	err = d.a.step("createNew", name, createFaults, func() error {
		if i := d.a.names[name]; i != nil {
			if i.unlinked {
				return sys.NotPermitted
			}
			return sys.Exists
		}
		i := d.a.inode()
		d.a.publish(name, i)
		f = d.a.opened(i, name)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// publish gives an inode a name.
func (a *actor) publish(name string, i *simInode) {
	a.names[name] = i
	if name == simLock {
		i.holder = a
	}
}

func (d simDir) free(name string) error {
	switch i := d.a.names[name]; {
	case i == nil:
		return nil
	case i.unlinked:
		return sys.NotPermitted
	}
	return sys.Exists
}

func (d simDir) linkUnnamed(f file, name string) error {
	return d.a.step("linkUnnamed", name, createFaults, func() error {
		if d.a.rules.noLinks {
			return sys.NotPermitted
		}
		if err := d.free(name); err != nil {
			return err
		}
		d.a.publish(name, f.(*simFile).i)
		return nil
	})
}

func (d simDir) moveNew(f file, from, to string) error {
	if d.a.rules.noRename {
		return sys.Unsupported
	}
	return d.a.step("moveNew", to, createFaults, func() error {
		if err := d.free(to); err != nil {
			return err
		}
		delete(d.a.names, from)
		d.a.publish(to, f.(*simFile).i)
		return nil
	})
}

func (d simDir) Link(from, to string) error {
	return d.a.step("link", to, createFaults, func() error {
		if d.a.rules.noLinks || d.a.rules.windows {
			return sys.NotPermitted
		}
		if err := d.free(to); err != nil {
			return err
		}
		d.a.publish(to, d.a.names[from])
		return nil
	})
}

func (d simDir) replace(f file, from, to string) error {
	return d.a.step("replace", to, removeFaults, func() error {
		i := f.(*simFile).i
		if d.a.names[from] != i {
			return sys.NotExist
		}
		if old := d.a.names[to]; old != nil {
			d.a.unname(to, old)
		}
		delete(d.a.names, from)
		d.a.publish(to, i)
		return nil
	})
}

func (d simDir) remove(name string, f file) error {
	return d.a.step("remove", name, removeFaults, func() error {
		i, err := d.at(name)
		if err != nil {
			return err
		}
		if d.a.rules.windows && f.(*simFile).i != i {
			return sys.NotExist // removal is by handle: what the name means now is not touched
		}
		if name == simLock && i.holder != d.a {
			d.a.parted = true
		}
		d.a.unname(name, i)
		return nil
	})
}

// unname removes a name, and is where a live holder's lock may not be removed by another.
func (a *actor) unname(name string, i *simInode) {
	if name == simLock {
		switch {
		case i.holder == nil || i.holder == a:
		case a.operator && !a.node:
			a.blamed = "operator"
		case a.node:
			a.blamed = a.name
		case i.attr == "" && i.holder.me.PIDSpace != a.me.PIDSpace:
			a.blamed = noNamespace
		default:
			a.violated("%s removed the lock of %s, which lives", a.name, i.holder.name)
		}
		if i.holder != a {
			a.removed++
			a.untold = !a.node
		}
	}
	if a.rules.windows && i.handles > 0 {
		i.unlinked = true
		return
	}
	if name == simLock {
		i.holder = nil
	}
	delete(a.names, name)
}

// simFile is one open file of an actor.
type simFile struct {
	a    *actor
	i    *simInode
	name string
}

func (f *simFile) named() bool {
	for _, i := range f.a.names {
		if i == f.i {
			return true
		}
	}
	return false
}

func (f *simFile) Stat() (sys.Info, error) { return f.i.info(), nil }
func (f *simFile) Chmod(fs.FileMode) error { return nil }
func (f *simFile) Local() bool             { return true }
func (f *simFile) Touch() error            { return nil }

func (f *simFile) ReadAt(p []byte, at int64) (n int, err error) {
	if at > 0 { // the records are short: the second read only finds the end
		return 0, nil
	}
	err = f.a.step("read", f.name, lookFaults, func() error {
		n, _ = io.ReadFull(strings.NewReader(f.i.content), p)
		f.a.learn(f.i.content)
		return nil
	})
	return n, err
}

// A write to what has no name is seen by nobody, but may meet a full disk.
func (f *simFile) Write(p []byte) (int, error) {
	err := f.a.step("write", f.name, []sys.Kind{sys.NoSpace, sys.IO}, func() error {
		f.i.content += string(p)
		return nil
	})
	return len(p), err
}

func (f *simFile) SetAttribute(_ string, value []byte) error {
	set := func() error {
		if f.a.rules.noAttributes || f.a.rules.windows {
			return sys.Unsupported
		}
		f.i.attr = string(value)
		return nil
	}
	if !f.named() {
		if f.a.dead {
			panic(killedActor{})
		}
		return set()
	}
	return f.a.step("setAttribute", f.name, nil, set)
}

// The attribute is read with the record in one step: it is written before the name, except by the last form.
func (f *simFile) Attribute(_ string, buf []byte) (int, error) {
	if f.i.attr == "" {
		return 0, sys.NoAttribute
	}
	return copy(buf, f.i.attr), nil
}

func (f *simFile) TryLock(exclusive bool) error {
	lock := func() error {
		if f.a.rules.noGuards {
			return sys.Unsupported
		}
		others := slices.ContainsFunc(f.i.shared, func(g *simFile) bool { return g != f })
		switch {
		case f.i.guard != nil && f.i.guard != f, exclusive && others:
			return sys.WouldBlock
		case exclusive:
			f.i.guard = f
		default:
			f.i.shared = append(f.i.shared, f)
		}
		return nil
	}
	if exclusive && !f.named() {
		if f.a.dead {
			panic(killedActor{})
		}
		return lock()
	}
	if exclusive {
		return f.a.step("tryExclusive", f.name, nil, lock)
	}
	return f.a.step("tryShared", f.name, lookFaults, lock)
}

func (f *simFile) Unlock() error {
	return f.a.step("unlock", f.name, nil, func() error { f.drop(); return nil })
}

func (f *simFile) drop() {
	if f.i.guard == f {
		f.i.guard = nil
	}
	f.i.shared = slices.DeleteFunc(f.i.shared, func(g *simFile) bool { return g == f })
}

// Close is a step where others can see it: the guard goes, or a lingering name does.
func (f *simFile) Close() error {
	if f.a.dead {
		return nil
	}
	if f.i.guard == f && (f.named() || f.i.handles > 1) || f.i.unlinked {
		return f.a.step("close", f.name, nil, func() error { f.close(); return nil })
	}
	f.close()
	return nil
}

func (f *simFile) close() {
	if !slices.Contains(f.a.files, f) {
		return
	}
	f.drop()
	f.a.files = slices.DeleteFunc(f.a.files, func(g *simFile) bool { return g == f })
	if f.i.handles--; f.i.handles == 0 && f.i.unlinked {
		maps.DeleteFunc(f.a.names, func(_ string, i *simInode) bool { return i == f.i })
	}
}
