package filelock

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/internal/sys"
)

// heartbeat is how often a held lock's times are refreshed and its loss is looked for. Lockers that judge by age use stale
// times from 1 s on; a refresh each second was not enough for those.
const heartbeat = 400 * time.Millisecond

// become makes the published inode a held lock.
func (c *contender) become(i *inode, place *place) *Lock {
	c.discardReady()
	l := &Lock{
		sys: c.sys, process: c.process, log: c.log, place: place, dir: c.dir, path: c.lockPath(), name: c.name,
		inode: i, taken: c.taken, done: make(chan struct{}),
	}
	c.process.hold(l)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer = c.sys.after(heartbeat, l.beat)
	return l
}

// onLoss has cancel called with the *LostError if the lock is lost.
func (l *Lock) onLoss(cancel context.CancelCauseFunc) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cancel = cancel
	if l.err != nil {
		cancel(l.err)
	}
}

// beat refreshes the lock's times through its descriptor, never by path, and looks for loss.
func (l *Lock) beat() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return
	}
	if l.verify(); l.err != nil {
		return
	}
	_ = l.inode.file.Touch()
	l.timer.Reset(heartbeat)
}

// verify marks the lock lost if its name is gone or means another inode. An error that says neither is no loss.
func (l *Lock) verify() {
	info, err := l.dir.Lstat(l.name)
	switch {
	case err == nil && info.ID == l.inode.id:
		return
	case err != nil && !sys.IsKind(err, sys.NotExist):
		return
	}
	l.process.unhold(l)
	l.end(&LostError{Path: l.path, Found: l.found(err)})
	l.timer.Stop()
	if l.cancel != nil {
		l.cancel(l.err)
	}
	l.log.Warn("lock was taken away while held", "path", l.path, "err", l.err)
}

func (l *Lock) found(err error) string {
	if err != nil {
		return "nothing is there"
	}
	f, err := l.dir.open(l.name)
	if err != nil {
		return "something else is there"
	}
	defer f.Close()
	var buf [maxRecord]byte
	n, err := readFull(f, buf[:])
	pid, ok := parseRecord(buf[:n])
	if err != nil || !ok {
		return "something else is there"
	}
	return fmt.Sprintf("PID %d has it now", pid)
}

// end makes err the lock's answer and lets the next goroutine of this process go on, before anybody is told.
func (l *Lock) end(err error) {
	l.err = err
	l.process.leave(l.place)
	close(l.done)
}

func (l *Lock) release() (err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return nil
	}
	l.ended = true
	l.timer.Stop()
	defer func() { err = l.letGo() }() // whatever the log's handler does
	l.log.Debug("releasing lock", "path", l.path)
	return nil
}

// letGo removes the lock file, unless the lock was lost, and closes what was open.
func (l *Lock) letGo() error {
	defer l.dir.Close()
	if l.err == nil {
		l.verify()
	}
	if l.err != nil {
		l.inode.file.Close()
		return l.err
	}
	err := l.unpublish()
	l.process.unhold(l) // while the inode is ours: its number may be used again afterwards
	l.inode.file.Close()
	l.end(ErrReleased)
	return err
}

// unpublish removes the lock file, which was just seen to be ours. The guard is dropped afterwards: dropped first, a
// contender could take the lock over and its lock would be removed. If the file stays, the guard goes at once, also from
// children that were forked and have not executed yet.
func (l *Lock) unpublish() error {
	err := l.dir.remove(l.name, l.inode.file)
	if err == nil || left(l.dir, l.name, l.inode.id) {
		return nil
	}
	_ = l.inode.file.Unlock()
	return &Error{"remove the lock at release", l.path, err}
}
