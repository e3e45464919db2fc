package filelock

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/oneline"
	"github.com/holdfast-go/holdfast/internal/sys"
)

// The protocol, and where each state lives:
//
//	queued       another goroutine of this process is the head                      (queue.go)
//	looking      lstat, open, read, judge                                           (look.go)
//	  free       -> publishing
//	  alive or
//	  unproven   -> waiting
//	  gone       -> claiming
//	publishing   a whole record of ours gets the lock's name, or loses to one       (publish.go)
//	  done       -> held
//	  lost       -> looking, at most three times, then waiting
//	claiming     a whole record of ours gets the claim's name, or a dead claimant's
//	             claim is adopted                                                   (takeover.go)
//	  done       -> second probe
//	  taken      -> waiting
//	second probe the lock is the very inode that was judged, its bytes the same,
//	             the verdict still gone
//	  yes, ours  -> the claim is renamed over the lock -> held
//	  yes, adopted, or where names linger
//	             -> the lock is removed, then the claim -> looking, at once
//	  no         -> the claim is removed -> waiting
//	waiting      a pause of the cadence -> looking; the end of the wait or of the
//	             context -> failed, nothing of ours on disk
//	held         every 400 ms: still ours?                                          (hold.go)
//	  no         -> lost: the caller is told, nothing is touched
//	  Release    -> the name is removed if it is still ours, then the guard dropped
//
// A kill in any state leaves at most: a whole lock and a whole claim of a dead process, both of which the next contender
// recovers from, and, where the system has no unnamed files, one temporary name.

// contender is one acquisition from its first look to the lock or the error.
type contender struct {
	sys     system
	process *process
	log     *slog.Logger
	opts    options
	dir     directory
	dirPath string // as given, with its trailing separator; for messages
	name    string // the lock's name in dir
	started time.Time
	form    form      // the form of publishing that worked last
	ready   *inode    // a prepared lock without a name, kept for the next try
	taken   *Takeover // the dead holder whose lock was ended
	waits   bool      // the beginning of the wait was logged
	said    bool      // that it is long was logged
	sitsOut bool      // we were woken and another was faster: nothing wakes us from the next pause
	beaten  bool      // that has happened
	unmoved *sighting // we were woken from waiting for it, and it was still there
}

// obstacle is why one attempt did not end with the lock.
type obstacle struct {
	lock  *sighting // nil: every try was lost to a contender
	claim *sighting // the claim that blocks the takeover of lock
	err   error     // the system's error behind it
	// asItself: the error is the answer when the wait ends, since nothing shows that the lock is held.
	asItself error
}

func acquire(ctx context.Context, s system, p *process, path string, o options) (*Lock, error) {
	dirPath, base, err := split(path)
	if err != nil {
		return nil, err
	}
	c := &contender{
		sys: s, process: p, log: o.logger, opts: o,
		dirPath: dirPath, name: base + lockSuffix, started: s.now(),
	}
	if ctx.Err() != nil {
		return nil, newWaitError(ctx, c.lockPath(), Holder{}, 0)
	}
	where := dirPath
	if where == "" {
		where = "."
	}
	if c.dir, err = s.openDir(where); err != nil {
		return nil, &Error{"open the directory to lock in", where, err}
	}
	l, err := c.compete(ctx)
	if err != nil {
		return nil, err
	}
	returned := false
	defer func() {
		if !returned { // a panic of the caller's goes on, without the lock
			_ = l.Release()
		}
	}()
	c.log.Debug("acquired lock", "path", l.path, "guarded", l.inode.guarded, "waited", s.now().Sub(c.started))
	if o.onAcquire != nil {
		o.onAcquire(l)
	}
	returned = true
	return l, nil
}

// split parts the protected file's path into its directory, with the separator, and its name.
func split(path string) (dir, base string, err error) {
	dir, base = filepath.Split(path)
	if base == "" || base == "." || base == ".." || strings.ContainsRune(path, 0) {
		return "", "", fmt.Errorf("%q: %w", path, ErrInvalidPath)
	}
	return dir, base, nil
}

func (c *contender) lockPath() string { return c.dirPath + c.name }

// compete queues within this process, then contends on disk. Unless that gives the lock, nothing of this acquisition is left
// in this process or on disk, also when a function of the caller's panics.
func (c *contender) compete(ctx context.Context) (l *Lock, err error) {
	defer func() {
		if l == nil {
			c.discardReady()
			c.dir.Close()
		}
	}()
	id, err := c.dir.ID()
	if err != nil {
		return nil, &Error{"identify the directory to lock in", c.dirPath, err}
	}
	k := key{id, c.name}
	if HeldBy(ctx, func(l Lease) bool { held, ok := l.(*Lock); return ok && held.place.key == k }) {
		return nil, fmt.Errorf("%s: %w: use that lock, or take it once further out", oneline.Path(c.lockPath()), ErrReentrant)
	}
	place, head := c.process.join(k)
	defer func() {
		if l == nil {
			c.process.leave(place)
		}
	}()
	if !head {
		err = c.queueUp(ctx, place)
	}
	if err == nil && !c.opts.eager {
		err = c.courtesy(ctx, k, head)
	}
	if err != nil {
		return nil, err
	}
	return c.contend(ctx, place)
}

// contend tries until the lock is had, the wait runs out, the context ends or something fails.
func (c *contender) contend(ctx context.Context, place *place) (*Lock, error) {
	var pace cadence
	var w *wakeup
	for before := (*obstacle)(nil); ; {
		inode, block, err := c.attempt()
		if err != nil {
			return nil, err
		}
		if inode != nil {
			if c.beaten {
				c.process.owe(place.key, c.sys.now(), winnersRest)
			}
			return c.become(inode, place), nil
		}
		c.process.sees(place, block)
		c.sitsOut = c.beatenTo(block, before, w) && !c.opts.eager
		c.beaten = c.beaten || c.sitsOut
		waited := c.sys.now().Sub(c.started)
		if waited >= c.opts.wait {
			return nil, c.giveUp(block, waited)
		}
		c.tellWaiting(func() Holder { return c.blockedBy(block) })
		w = c.watch(block)
		err = c.sys.pause(ctx, pace.next(), w.woken)
		w.stop()
		before = block
		if err != nil {
			return nil, newWaitError(ctx, c.lockPath(), c.blockedBy(block), c.sys.now().Sub(c.started))
		}
	}
}

// attempt looks, and publishes or takes over as what it sees permits. Exactly one of its results is not nil.
func (c *contender) attempt() (*inode, *obstacle, error) {
	for free, taken := 0, 0; free < maxFree && taken < maxFree; {
		info, err := c.dir.Lstat(c.name)
		if sys.IsKind(err, sys.NotExist) {
			inode, err := c.publish(c.name, &c.ready)
			switch {
			case err == nil:
				return inode, nil, nil
			case sys.IsKind(err, sys.Exists), c.lingers(err) && c.exists(c.name):
				free++
				continue
			case c.lingers(err):
				return nil, &obstacle{asItself: &Error{"make the lock", c.lockPath(), err}}, nil
			}
			return nil, nil, &Error{"make the lock", c.lockPath(), err}
		}
		if c.lingers(err) {
			return nil, &obstacle{asItself: &Error{"look at the lock", c.lockPath(), err}}, nil
		}
		if err != nil {
			return nil, nil, &Error{"look at the lock", c.lockPath(), err}
		}
		seen, vanished := c.look(c.name, info)
		if vanished {
			free++
			continue
		}
		if seen.verdict != gone || c.opts.noTakeover {
			seen.close()
			return nil, &obstacle{lock: seen, asItself: c.cannotLook(seen)}, nil
		}
		inode, block, err := c.takeOver(seen)
		if inode != nil || block != nil || err != nil {
			return inode, block, err
		}
		taken++
	}
	return nil, &obstacle{}, nil
}

// cannotLook is the error of a look that failed for a reason which is not the lock's or claim's.
func (c *contender) cannotLook(s *sighting) error {
	if s.failed == nil {
		return nil
	}
	return &Error{"read the lock", c.dirPath + s.name, s.failed}
}

// lingers reports whether err is what a name answers that is on its way out, on a system where names linger.
func (c *contender) lingers(err error) bool {
	return c.sys.namesLinger() && sys.IsKind(err, sys.NotPermitted, sys.InUse)
}

func (c *contender) exists(name string) bool {
	_, err := c.dir.Lstat(name)
	return err == nil
}

// means reports whether name is the inode with this id now.
func (c *contender) means(name string, id sys.FileID) bool { return means(c.dir, name, id) }

func means(d directory, name string, id sys.FileID) bool {
	info, err := d.Lstat(name)
	return err == nil && info.ID == id
}

// left reports whether name is known to be that inode no more. A look that failed says neither.
func left(d directory, name string, id sys.FileID) bool {
	info, err := d.Lstat(name)
	return err == nil && info.ID != id || sys.IsKind(err, sys.NotExist)
}

func (c *contender) discardReady() {
	if c.ready != nil {
		c.ready.file.Close()
		c.ready = nil
	}
}
