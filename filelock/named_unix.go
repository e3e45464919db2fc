//go:build unix

package filelock

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/internal/sys"
)

// A named lock on Unix is the kernel lock's protocol on a file of which place, mode and content are given, with one state
// more between checking and held:
//
//	checking     the path still means the locked inode, which is as it must be
//	owning       its content is read: an owner record is one whose writer did not
//	             release; ours is written over it
//	held
//	  Release    -> our record is taken out, then the kernel lock
//
// A kill while owning leaves the old record or ours, never none where there was one: whoever is next is told of a dead holder.

// How often a lock's file is tried, and how long is paused in between: as long as another process may take from one step of
// making it to the next.
const (
	namedTries = 10
	namedPause = 5 * time.Millisecond
)

func (m namedFiles) acquire(ctx context.Context, n namedLocker) (namedLease, error) {
	if err := n.ended(ctx); err != nil {
		return nil, err
	}
	p, err := m.place(n)
	if err != nil {
		return nil, err
	}
	a := &namedAcquisition{
		&kernelContender{sys: m.sys, table: n.table, log: n.opts.logger, opts: n.opts, full: p.path, started: m.sys.now()},
		m, p,
	}
	l, err := a.compete(ctx)
	switch err.(type) { // not what it wraps: the end of a context may have any cause
	case nil:
		return l, nil
	case *UnsafePathError, *Error:
		return nil, misconfiguredError{err}
	}
	return nil, err
}

// namedAcquisition is one acquisition from its first look to the lease or the error.
type namedAcquisition struct {
	*kernelContender
	machine namedFiles
	place   namedPlace
}

// compete tries again when the file was replaced.
func (a *namedAcquisition) compete(ctx context.Context) (*fileLease, error) {
	for try := 1; ; try++ {
		l, err := a.contend(ctx)
		later, ok := err.(unsettled)
		if !ok {
			return l, err
		}
		if try < maxReplaced {
			continue
		}
		if err := a.settle(ctx, later); err != nil {
			return nil, err
		}
	}
}

func (a *namedAcquisition) contend(ctx context.Context) (l *fileLease, err error) {
	f, id, err := a.open(ctx)
	if err != nil {
		return nil, err
	}
	k := key{dir: id}
	if HeldBy(ctx, func(l Lease) bool { held, ok := l.(*fileLease); return ok && held.lease.key == k }) {
		f.Close()
		return nil, alreadyHeld(a.full)
	}
	err = a.lockInTurn(ctx, f, k, func(place *place) error {
		taken, err := a.own(f, id)
		if err == nil {
			l = a.become(f, place, taken)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	a.announce(l.lease)
	return l, nil
}

// open opens the file, and makes it if it is not there. What fails or does not fit is tried again: another may be making it.
func (a *namedAcquisition) open(ctx context.Context) (*ownedFile, sys.FileID, error) {
	for try := 1; ; try++ {
		f, id, err := a.openOnce()
		if err == nil || try == namedTries {
			return f, id, err
		}
		if a.sys.pause(ctx, namedPause, nil) != nil {
			return nil, sys.FileID{}, newWaitError(ctx, a.full, Holder{}, a.waited())
		}
	}
}

func (a *namedAcquisition) openOnce() (*ownedFile, sys.FileID, error) {
	dir, err := a.machine.directory(a.place)
	if err != nil {
		return nil, sys.FileID{}, err
	}
	defer dir.Close()
	info, err := dir.Lstat(a.place.name)
	if sys.IsKind(err, sys.NotExist) {
		a.log.Debug("creating lock file", "path", a.full)
		if err := a.machine.create(dir, a.place); err != nil {
			return nil, sys.FileID{}, misconfigured("make the lock file", a.full, rootFirst(err))
		}
		a.log.Debug("created lock file", "path", a.full)
		info, err = dir.Lstat(a.place.name)
	}
	if err == nil {
		err = a.place.fits(info)
	}
	if err != nil {
		return nil, sys.FileID{}, misconfigured("use what lies in the lock file's place", a.full, err)
	}
	f, err := dir.openWrite(a.place.name)
	if err != nil {
		return nil, sys.FileID{}, misconfigured("open the lock file", a.full, err)
	}
	if info, err = f.Stat(); err != nil {
		f.Close()
		return nil, sys.FileID{}, misconfigured("look at the lock file", a.full, err)
	}
	return &ownedFile{namedFile: f, space: a.sys.self().PIDSpace}, info.ID, nil
}

// own makes the locked file this process's, and returns its last owner if that did not release it.
func (a *namedAcquisition) own(f *ownedFile, id sys.FileID) (*Takeover, error) {
	info, err := a.lookAgain(id)
	if err != nil {
		return nil, err
	}
	if err := a.place.fits(info); err != nil {
		return nil, misconfigured("use the lock file", a.full, err)
	}
	var last *owner
	if info.Size > 0 {
		if last, err = f.owner(); err != nil {
			return nil, misconfigured("use the lock file", a.full, err)
		}
	}
	if err := f.own(owner{a.sys.self().PID, a.sys.self().PIDSpace, a.sys.now()}); err != nil {
		return nil, misconfigured("write the owner record", a.full, err)
	}
	if last == nil {
		return nil, nil
	}
	foreign := last.pid != 0 && last.pidSpace != a.sys.self().PIDSpace
	return &Takeover{PID: last.pid, Proof: abandoned, Since: last.since, Foreign: foreign}, nil
}

func (a *namedAcquisition) become(f *ownedFile, place *place, taken *Takeover) *fileLease {
	l := &KernelLease{
		sys: a.sys, table: a.table, log: a.log, file: f, key: place.key, place: place, path: a.full, watch: a.watch,
		done: make(chan struct{}),
	}
	a.table.hold(l)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer = a.sys.after(heartbeat, l.beat)
	return &fileLease{l, taken}
}

// fileLease is a held named lock.
type fileLease struct {
	lease *KernelLease
	taken *Takeover
}

func (l *fileLease) Done() <-chan struct{} { return l.lease.Done() }
func (l *fileLease) Err() error            { return l.lease.Err() }
func (l *fileLease) Release() error        { return l.lease.Release() }

// Check looks at the disk now, as a kernel lock's does.
func (l *fileLease) Check() error { return l.lease.Check() }

func (l *fileLease) Takeover() (Takeover, bool) {
	if l.taken == nil {
		return Takeover{}, false
	}
	return *l.taken, true
}
