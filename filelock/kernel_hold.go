package filelock

import (
	"errors"

	"github.com/holdfast-go/holdfast/internal/sys"
)

var errSharedMetadata = errors.New("a shared lease has no metadata: there may be many")

// beat looks for loss.
func (l *KernelLease) beat() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return
	}
	l.unwatch()
	if l.verify(); l.err == nil {
		l.timer.Reset(heartbeat)
	}
}

// unwatch ends the watch of the wait.
func (l *KernelLease) unwatch() {
	l.watch.stop()
	l.watch = nil
}

// verify marks the lock lost if its path is gone or means another inode. An error that says neither is no loss.
func (l *KernelLease) verify() {
	info, err := l.sys.lstat(l.path)
	found := "something else is there"
	switch {
	case err == nil && info.ID == l.key.dir:
		return
	case sys.IsKind(err, sys.NotExist, sys.NotDirectory):
		found = "nothing is there"
	case err != nil:
		return
	case info.Regular():
		found = "another file is there"
	}
	l.timer.Stop()
	l.table.unhold(l)
	l.end(&LostError{Path: l.path, Found: found})
	l.log.Warn("lock was taken away while held", "path", l.path, "err", l.err)
}

// end makes err the lease's answer and lets the next goroutine of this process go on, before anybody is told.
func (l *KernelLease) end(err error) {
	l.err = err
	l.table.queues.leave(l.place)
	close(l.done)
}

func (l *KernelLease) release() (err error) {
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

// letGo unlocks the file and closes it.
func (l *KernelLease) letGo() error {
	defer l.unwatch()
	if l.err == nil {
		l.verify()
	}
	_ = l.file.Unlock() // closing does it too, but not for children that were forked and have not executed yet
	lost := l.err
	if lost == nil { // while the inode is open: its number may be used again afterwards
		l.table.unhold(l)
		l.end(ErrReleased)
	}
	if err := l.file.Close(); err != nil && lost == nil {
		return &Error{"close the lock file", l.path, err}
	}
	return lost
}

func (l *KernelLease) writeMetadata(m Metadata) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return l.err
	}
	if l.shared {
		return &Error{"write metadata", l.path, errSharedMetadata}
	}
	info, err := l.file.Stat()
	if err != nil {
		return &Error{"look at the lock file", l.path, err}
	}
	if err := unsafeFile(l.path, info); err != nil {
		return err
	}
	err = errOtherContent
	if !isOthers(l.file, info.Size) {
		err = m.write(l.file, info.Size)
	}
	if err != nil {
		return &Error{"write metadata", l.path, err}
	}
	return nil
}
