package filelock

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/holdfast-go/holdfast/internal/oneline"
	"github.com/holdfast-go/holdfast/internal/sys"
)

// The kernel lock, and where each state lives:
//
//	opening      the file is opened, or made; refused unless it is regular and has one name   (openFile)
//	queued       another goroutine of this process has this inode or is first for it          (kernel_queue.go)
//	trying       one try without waiting, on the descriptor that was opened
//	  locked     -> checking
//	  not        -> waiting, if the path still means this inode; otherwise opening
//	checking     the path still means the locked inode: a holder of one that was replaced
//	             would be alone with it
//	  yes        -> held, metadata written
//	  no         -> opening, three times in a row, then a pause before
//	waiting      until woken by a close, or a back-off -> trying; the end of the wait or of
//	             the context -> failed
//	held         every 400 ms and at Release: does the path still mean our inode?             (kernel_hold.go)
//	  no         -> lost: the caller is told, nothing is touched
//	  Release    -> unlocked, then closed: children that were forked and have not executed
//	                yet have the descriptor too
//
// The descriptor stays open from the first try to the last: closing it would wake the other waiters.

// kernelContender is one acquisition of a kernel lock.
type kernelContender struct {
	sys        kernelSystem
	table      *kernelTable
	log        *slog.Logger
	opts       options
	root, path string // path is absolute if root is empty
	full       string
	started    time.Time
	pace       backoff
	waits      bool        // the beginning of the wait was logged
	said       bool        // that it is long was logged
	watch      *closeWatch // nil until there is a wait
}

// maxOpens bounds how often a file is opened and made in turns. Others may remove it between, and macOS can answer "no such
// file" to some of those who make one name at once.
const maxOpens = 16

// maxReplaced is how often in a row the path may turn out to mean another inode before there is a pause.
const maxReplaced = 3

var errReplaced = errors.New("the lock file is being replaced: it must stay")

// unsettled is a reason to look again later that says nothing about a holder. It is the answer when the wait ends.
type unsettled struct{ error }

func acquireKernel(ctx context.Context, s kernelSystem, t *kernelTable, where kernelPath, o options) (*KernelLease, error) {
	root, path, err := where.place(s)
	if err != nil {
		return nil, err
	}
	c := &kernelContender{sys: s, table: t, log: o.logger, opts: o, root: root, path: path, full: path, started: s.now()}
	if root != "" {
		c.full = below(root, path)
	}
	if ctx.Err() != nil {
		return nil, newWaitError(ctx, c.full, Holder{}, 0)
	}
	for try := 1; ; try++ {
		l, err := c.contend(ctx)
		later, ok := err.(unsettled)
		if !ok {
			return l, err
		}
		if try%maxReplaced != 0 {
			continue
		}
		if err := c.settle(ctx, later); err != nil {
			return nil, err
		}
	}
}

// settle pauses for a while; nil means that there is time for another try.
func (c *kernelContender) settle(ctx context.Context, later unsettled) error {
	if c.waited() >= c.opts.wait {
		return &Error{"lock the file", c.full, later.error}
	}
	return c.pause(ctx, c.pace.next(true), nil, func() Holder { return Holder{} })
}

func (c *kernelContender) waited() time.Duration { return c.sys.now().Sub(c.started) }

// contend tries for the file that the path names now.
func (c *kernelContender) contend(ctx context.Context) (l *KernelLease, err error) {
	f, info, err := c.openFile()
	if err != nil {
		return nil, err
	}
	k := key{dir: info.ID}
	if HeldBy(ctx, func(l Lease) bool { held, ok := l.(*KernelLease); return ok && held.key == k }) {
		f.Close()
		return nil, fmt.Errorf("%s: %w: use that lock, or take it once further out", oneline.Path(c.full), ErrReentrant)
	}
	err = c.lockInTurn(ctx, f, k, func(place *place) error {
		l, err = c.become(f, place)
		return err
	})
	if err != nil {
		return nil, err
	}
	c.announce(l)
	return l, nil
}

// openFile opens the lock file, which is made if it is missing. A FIFO in its place is opened before it is refused, which wakes a
// reader that waits for a writer; a look before would cost each lock a system call and only narrow the race.
func (c *kernelContender) openFile() (lockFile, sys.Info, error) {
	var f lockFile
	var err error
	for range maxOpens {
		f, err = c.sys.openLock(c.root, c.path)
		if !sys.IsKind(err, sys.NotExist) {
			break
		}
		f, err = c.create()
		if !sys.IsKind(err, sys.NotExist, sys.Exists) {
			break
		}
	}
	if err != nil {
		return nil, sys.Info{}, c.cannotOpen(err)
	}
	info, err := f.Stat()
	if err != nil {
		err = &Error{"look at the lock file", c.full, err}
	} else {
		err = unsafeFile(c.full, info)
	}
	if err != nil {
		f.Close()
		return nil, sys.Info{}, err
	}
	return f, info, nil
}

func (c *kernelContender) create() (lockFile, error) {
	const perm = 0o600
	c.log.Debug("creating lock file", "path", c.full)
	f, err := c.sys.createLock(c.root, c.path, perm)
	if err != nil {
		return nil, err
	}
	_ = f.Chmod(perm) // whatever the umask; without it only this user is worse off
	c.log.Debug("created lock file", "path", c.full)
	return f, nil
}

func (c *kernelContender) cannotOpen(err error) error {
	if found := unsafeFound(c.sys, c.root, c.path, c.full); found != nil {
		return found
	}
	if c.sys.namesLinger() && sys.IsKind(err, sys.NotPermitted, sys.InUse) {
		return unsettled{err}
	}
	if sys.IsKind(err, sys.NotExist) { // it would have been made
		return &Error{"find the directory of the lock file", c.full, err}
	}
	return &Error{"open the lock file", c.full, err}
}

// lock returns nil when the kernel lock is had.
func (c *kernelContender) lock(ctx context.Context, f lockFile, id sys.FileID) error {
	for {
		if locked, err := c.tryLock(f); locked || err != nil {
			return err
		}
		if _, err := c.lookAgain(id); err != nil {
			return err
		}
		if c.waited() >= c.opts.wait {
			return &HeldError{Path: c.full, Holder: c.holder(f, id), Waited: c.opts.spent(c.waited()), Kernel: true}
		}
		if c.watch == nil {
			if c.watch = watchClose(f); c.watch.works() {
				continue // it may have been let go before the watch began
			}
		}
		if err := c.rest(ctx, func() Holder { return c.holder(f, id) }); err != nil {
			return err
		}
	}
}

// lookAgain says whether the path still means the inode with this id, and nothing that must not be written to.
func (c *kernelContender) lookAgain(id sys.FileID) (sys.Info, error) {
	info, err := c.sys.lstat(c.full)
	switch {
	case sys.IsKind(err, sys.NotExist), err == nil && info.ID != id:
		return sys.Info{}, unsettled{errReplaced}
	case err != nil && c.sys.namesLinger() && sys.IsKind(err, sys.NotPermitted, sys.InUse):
		return sys.Info{}, unsettled{err}
	case err != nil:
		return sys.Info{}, &Error{"look at the lock file", c.full, err}
	}
	return info, unsafeFile(c.full, info)
}

// become makes the locked file a lease, unless the path means another one by now.
func (c *kernelContender) become(f lockFile, place *place) (*KernelLease, error) {
	info, err := c.lookAgain(place.key.dir)
	if err != nil {
		return nil, err
	}
	l := &KernelLease{
		sys: c.sys, table: c.table, log: c.log, file: f, key: place.key, place: place, path: c.full,
		shared: c.opts.shared, watch: c.watch, done: make(chan struct{}),
	}
	if l.shared {
		c.table.queues.leave(place) // for the readers behind
	} else if err := c.writeOwn(f, info); err == errOtherContent {
		c.log.Debug("lock has no metadata", "path", c.full, "err", err)
	} else if err != nil {
		c.log.Warn("lock is held, and its metadata could not be written", "path", c.full, "err", err)
	}
	c.table.hold(l)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer = c.sys.after(heartbeat, l.beat)
	return l, nil
}

// writeOwn writes this process's metadata. A look comes first even if this process was the last to write it: its holder may have
// put something of the same size in the place.
func (c *kernelContender) writeOwn(f lockFile, info sys.Info) error {
	m := Metadata{c.sys.self().PID, c.table.sequence.Add(1)}
	if isOthers(f, info.Size) {
		return errOtherContent
	}
	return m.write(f, info.Size)
}

// announce logs that the lock is held. A panic of the log's handler goes on, without the lock.
func (c *kernelContender) announce(l *KernelLease) {
	returned := false
	defer func() {
		if !returned {
			_ = l.Release()
		}
	}()
	c.log.Debug("acquired lock", "path", l.path, "shared", l.shared, "waited", c.waited())
	returned = true
}
