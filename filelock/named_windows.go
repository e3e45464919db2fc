package filelock

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/sys"
)

func osNamed() namedMachine { return namedMutexes{osSystem{}} }

// namedMutexes is a machine whose named locks are mutexes.
type namedMutexes struct{ sys osSystem }

// How often opening a mutex is tried, and how long is paused in between: what is in its place may go.
const (
	mutexTries = 5
	mutexPause = 10 * time.Millisecond
)

// mutexAccess is what a scope may do with its mutexes, in the security descriptor language: wait for them, release them and
// see whose they are. Who else may is their owner's to change.
const mutexAccess = "0x120001"

// mutexPlace is the mutex of one named lock.
type mutexPlace struct {
	name       string
	descriptor string
	owner      string // whose it must be; empty: anybody's
}

// place says where the lock is. Global names are those of all sessions: a session's own would be a lock of its own.
func (m namedMutexes) place(n namedLocker) (p mutexPlace, err error) {
	const trusted = "(A;;GA;;;SY)(A;;GA;;;BA)"
	group, isGroup := n.scope.group()
	name := namedFileName(n.name)
	switch {
	case n.scope == AllUsers:
		p.name = `Global\holdfast-all-` + name
		p.descriptor = "D:" + trusted + "(A;;" + mutexAccess + ";;;WD)"
	case n.scope == CurrentUser:
		if p.owner, err = sys.UserSID(); err != nil {
			return mutexPlace{}, misconfigured("find the user of a lock", n.name, err)
		}
		p.name = `Global\holdfast-user-` + p.owner + "-" + name
		p.descriptor = "O:" + p.owner + "D:" + trusted + "(A;;" + mutexAccess + ";;;" + p.owner + ")"
	case isGroup:
		id, err := sys.GroupSID(group)
		if err != nil {
			return mutexPlace{}, misconfigured("find the group of a lock", group, err)
		}
		p.name = `Global\holdfast-group-` + id + "-" + name
		p.descriptor = "D:" + trusted + "(A;;" + mutexAccess + ";;;" + id + ")"
	default:
		return mutexPlace{}, n.noScope()
	}
	return p, nil
}

func (m namedMutexes) acquire(ctx context.Context, n namedLocker) (namedLease, error) {
	if err := n.ended(ctx); err != nil {
		return nil, err
	}
	p, err := m.place(n)
	if err != nil {
		return nil, err
	}
	c := &contender{sys: m.sys, process: n.table.queues, log: n.opts.logger, opts: n.opts, name: p.name, started: m.sys.now()}
	k := key{name: p.name}
	if HeldBy(ctx, func(l Lease) bool { held, ok := l.(*mutexLease); return ok && held.place.key == k }) {
		return nil, alreadyHeld(p.name)
	}
	l := &mutexLease{queues: c.process, log: c.log, path: p.name, done: make(chan struct{})}
	if l.mutex, err = m.open(ctx, c, p); err != nil {
		return nil, err
	}
	var head bool
	l.place, head = c.process.join(k)
	kept := false
	defer func() {
		if !kept {
			if l.own != nil {
				_ = l.own.End()
			}
			c.process.leave(l.place)
			l.mutex.Close()
		}
	}()
	if !head {
		if err := c.queueUp(ctx, l.place); err != nil {
			return nil, err
		}
	}
	if l.own, err = waitForMutex(ctx, c, l.mutex); err != nil {
		return nil, err
	}
	c.log.Debug("acquired lock", "path", p.name, "waited", m.sys.now().Sub(c.started))
	kept = true
	return l, nil
}

// open opens the mutex, and makes it if there is none.
func (m namedMutexes) open(ctx context.Context, c *contender, p mutexPlace) (*sys.Mutex, error) {
	for try := 1; ; try++ {
		c.log.Debug("creating mutex", "path", p.name)
		mutex, err := sys.OpenMutex(p.name, p.descriptor)
		if err == nil {
			c.log.Debug("created mutex", "path", p.name)
			return checked(mutex, p)
		}
		if try == mutexTries {
			return nil, misconfigured("make or open the mutex", p.name, err)
		}
		if m.sys.pause(ctx, mutexPause, nil) != nil {
			return nil, newWaitError(ctx, p.name, Holder{}, m.sys.now().Sub(c.started))
		}
	}
}

// checked closes the mutex if it is not whose it must be.
func checked(mutex *sys.Mutex, p mutexPlace) (*sys.Mutex, error) {
	if p.owner == "" {
		return mutex, nil
	}
	owner, err := mutex.Owner()
	if err == nil && owner != p.owner {
		err = fmt.Errorf("it belongs to %s, not %s", owner, p.owner)
	}
	if err != nil {
		mutex.Close()
		return nil, misconfigured("use the mutex", p.name, err)
	}
	return mutex, nil
}

// waitForMutex returns when the mutex is ours. A mutex that became ours while the wait was ending is ours all the same: that its
// last holder abandoned it is told to nobody else.
func waitForMutex(ctx context.Context, c *contender, mutex *sys.Mutex) (*sys.Ownership, error) {
	own, err := mutex.Own()
	if err != nil {
		return nil, misconfigured("wait for the mutex", c.name, err)
	}
	kept := false
	defer func() {
		if !kept {
			_ = own.End()
		}
	}()
	err = awaitMutex(ctx, c, own)
	if kept = own.Stop(); kept {
		return own, nil
	}
	if own.Err != nil {
		return nil, misconfigured("wait for the mutex", c.name, own.Err)
	}
	return nil, err
}

// awaitMutex returns when the wait is over, with the reason why it should not go on if it still could.
func awaitMutex(ctx context.Context, c *contender, own *sys.Ownership) error {
	holder := Holder{State: Unproven, Why: "the system does not tell whose a mutex is"}
	for {
		select {
		case <-own.Settled:
			return nil
		default:
		}
		waited := c.sys.now().Sub(c.started)
		if waited >= c.opts.wait {
			return &HeldError{Path: c.name, Holder: holder, Waited: c.opts.spent(waited), Kernel: true}
		}
		c.tellWaiting(func() Holder { return holder })
		if c.sys.pause(ctx, min(longestPause, c.opts.wait-waited), own.Settled) != nil {
			return newWaitError(ctx, c.name, holder, c.sys.now().Sub(c.started))
		}
	}
}

// mutexLease is a held mutex. Nobody can take it away.
type mutexLease struct {
	queues *process
	place  *place
	log    *slog.Logger
	path   string
	mutex  *sys.Mutex
	own    *sys.Ownership

	mu   sync.Mutex
	done chan struct{}
	err  error // nil while held
}

func (l *mutexLease) Done() <-chan struct{} { return l.done }

func (l *mutexLease) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Check is Err.
func (l *mutexLease) Check() error { return l.Err() }

// Takeover knows that there was a dead predecessor and not which.
func (l *mutexLease) Takeover() (Takeover, bool) {
	if !l.own.Abandoned {
		return Takeover{}, false
	}
	return Takeover{Proof: abandoned}, true
}

func (l *mutexLease) Release() (err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return nil
	}
	defer func() { err = l.letGo() }() // whatever the log's handler does
	l.log.Debug("releasing lock", "path", l.path)
	return nil
}

// letGo releases the mutex and closes it.
func (l *mutexLease) letGo() error {
	err := l.own.End()
	l.mutex.Close()
	l.err = ErrReleased
	l.queues.leave(l.place)
	close(l.done)
	if err != nil {
		return &Error{"release the mutex", l.path, err}
	}
	return nil
}
