package filelock

import (
	"context"

	"github.com/holdfast-go/holdfast/internal/sys"
)

const (
	simPath = "d/f"
	simLock = "f" + lockSuffix
)

var simBoot = [16]byte{1}

// add gives the machine one more actor.
func (m *machine) add(name string, pid int, script func(*actor)) *actor {
	a := &actor{
		machine: m, name: name, script: script, table: newProcess(), index: uint64(len(m.actors) + 1), wait: firstPause,
		me: sys.Self{PID: pid, Start: uint64(len(m.actors) + 1), Boot: simBoot, PIDSpace: 1, TimeSpace: 1, SeesAll: true},
	}
	m.actors = append(m.actors, a)
	return a
}

// leftBehind is the record of a process that ended long ago, as Node writes it.
func (m *machine) leftBehind(name string, content string) {
	m.initial[name] = &simInode{id: uint64(len(m.names) + 1), content: content}
	m.names[name] = m.initial[name]
}

// enter is the moment at which an actor believes that it is alone.
func (a *actor) enter(told bool) {
	if told || a.node {
		a.untold = false
	} else if a.untold && !a.parted {
		a.violated("%s follows a dead holder and was not told", a.name)
	}
	for _, other := range a.actors {
		if other != a && other.inside && !a.operator && (!other.node || !a.node) {
			a.violated("%s and %s are both inside", a.name, other.name)
		}
	}
	a.inside, a.got = true, true
	a.learn("inside")
	a.note(a, "is inside")
}

// contender is a Go program that takes the lock once.
func contenderScript(a *actor) {
	a.removed = 0
	l, err := acquire(context.Background(), a, a.table, simPath, newOptions([]Option{Wait(a.wait)}))
	if err != nil {
		a.note(a, "gives up: %v", err)
		return
	}
	_, told := l.Takeover()
	if !told && a.removed > 0 {
		a.violated("%s ended a dead holder's lock and was not told", a.name)
	}
	a.enter(told)
	_ = a.step("work", "", nil, func() error { return nil })
	err = l.Check()
	if now := a.names[simLock]; now != nil && now.holder == a {
		if err != nil {
			a.violated("%s was told of a loss and has the lock", a.name)
		}
	} else if err == nil && !a.failed {
		a.violated("%s has lost the lock and was not told", a.name)
	}
	a.inside = false
	_ = l.Release()
}

// How often a Node writer tries.
const nodeTries = 2

// nodeScript is a Node writer: the older release without takeover, the later protocol with it.
func nodeScript(takesOver bool) func(*actor) {
	return func(a *actor) {
		a.node = true
		for range nodeTries {
			got, again := a.nodeTry(takesOver)
			if again {
				got, _ = a.nodeTry(false)
			}
			if got {
				a.enter(false)
				_ = a.step("work", "", nil, func() error { return nil })
				a.inside = false
				a.nodeRemove(simLock)
				return
			}
			_ = a.pause(context.Background(), firstPause, nil)
		}
	}
}

func (a *actor) nodeTry(takesOver bool) (got, again bool) {
	d := simDir{a}
	record := string(appendRecord(nil, a.me.PID))
	if a.nodeCreate(simLock, record) {
		return true, false
	}
	if !takesOver {
		return false, false
	}
	dead, ok := a.nodeJudge(d)
	if !ok {
		return false, false
	}
	claim := claimName(simLock, []byte(dead))
	if !a.nodeCreate(claim, record) {
		return false, false
	}
	now, ok := a.nodeJudge(d) // bytes and number only: that is what its rules say
	if ok && now == dead {
		a.nodeRemove(simLock)
		again = true
	}
	a.nodeRemove(claim)
	return false, again
}

// nodeCreate opens exclusively, then writes: two steps.
func (a *actor) nodeCreate(name, content string) bool {
	f, err := simDir{a}.createNew(name, recordMode)
	if err != nil {
		return false
	}
	_, err = f.Write([]byte(content))
	f.Close()
	return err == nil
}

// nodeJudge reads the lock and asks for its process.
func (a *actor) nodeJudge(d simDir) (content string, dead bool) {
	err := a.step("readFile", simLock, nil, func() error {
		i, err := d.at(simLock)
		if err == nil {
			content = i.content
			a.learn(content)
		}
		return err
	})
	pid, ok := parseRecord([]byte(content))
	if err != nil || !ok {
		return "", false
	}
	return content, a.probe(pid).Presence == sys.Absent
}

func (a *actor) nodeRemove(name string) {
	_ = a.step("rm", name, nil, func() error {
		if i := a.names[name]; i != nil {
			a.unname(name, i)
		}
		return nil
	})
}

// operatorScript deletes the lock once, whoever has it.
func operatorScript(a *actor) {
	a.node = true
	_ = a.step("rm", simLock, nil, func() error {
		if i := a.names[simLock]; i != nil {
			a.operator = true
			if !a.rules.windows || i.handles == 0 { // otherwise the name keeps everybody out until its holder lets go
				i.holder = nil // its holder has lost it, and nobody is to blame
			}
			a.unname(simLock, i)
		}
		return nil
	})
}

// later starts a process with a number that may have been used before, once it is free.
func (m *machine) later(name string, pid int, script func(*actor)) *actor {
	a := m.add(name, pid, nil)
	own := a.me
	a.script = func(a *actor) {
		a.node = true // its birth is no step of ours: not killed, not failed
		for {
			born := false
			_ = a.step("is born", "", nil, func() error {
				if a.alive[number{own.PIDSpace, own.PID}] == nil {
					a.me = own
					a.alive[a.number()] = a
					born = true
				}
				return nil
			})
			if born {
				break
			}
			a.history = 0
			if a.othersEnded() {
				return
			}
		}
		a.node = false
		script(a)
	}
	a.me.PID = -len(m.actors) // until then, nobody's
	return a
}

func (a *actor) othersEnded() bool {
	for _, other := range a.actors {
		if other != a && !other.ended {
			return false
		}
	}
	return true
}
