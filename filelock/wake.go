package filelock

import (
	"bytes"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/internal/sys"
)

// Courtesy to peers that only poll, as Node writers do each 200 ms for 2 s: contenders that are woken fill every gap, and
// such a peer would never find the lock free. Its chances must be those that it has in a crowd of its own kind, so nobody
// who is woken may keep the lock busy for much more than half of the time:
//   - who was woken and found that another was faster sits the next pause out;
//   - who gets the lock after all then leaves it alone for a while;
//   - goroutines that hand it on among themselves leave it free from time to time, for as long as a peer pauses.
//
// That the winner rests and not the loser is what keeps waits short: losers that only polled would starve as such peers do.
const (
	winnersRest   = time.Second
	longestStreak = 400 * time.Millisecond // three gaps in 2 s
)

// courtesy leaves the lock to others for as long as this process owes them; the caller's wait goes on meanwhile.
func (c *contender) courtesy(ctx context.Context, k key, head bool) error {
	now := c.sys.now()
	rest := c.process.rest(k, now)
	if !head && c.process.overdue(k, now) {
		rest = max(rest, longestPause)
	}
	rest = min(rest, c.opts.wait-now.Sub(c.started))
	for rest > 0 {
		c.tellWaiting(func() Holder { return c.ourselves(k) })
		d := rest
		if c.opts.onWait != nil {
			d = min(d, longestPause)
		}
		if c.sys.pause(ctx, d, nil) != nil {
			return newWaitError(ctx, c.lockPath(), c.ourselves(k), c.sys.now().Sub(c.started))
		}
		rest -= d
	}
	return nil
}

// wakeup is what may end a pause early: the obstacle's name means something else, or its process has ended.
type wakeup struct {
	woken chan struct{} // nil: nothing does
	wake  func()
	named atomic.Bool // the watch of the name told
	stops []func()
}

// watch arranges to be woken when block changes. What the system refuses is done without: the pause ends by itself.
//
// What changed between the look and the watch is not told by the watch. It is asked for, and ends the pause at once. Only a
// change may do that: a state that stays would end every pause.
func (c *contender) watch(block *obstacle) *wakeup {
	w := &wakeup{}
	seen := block.seen()
	if seen == nil || c.sitsOut {
		return w
	}
	w.woken = make(chan struct{})
	w.wake = sync.OnceFunc(func() { close(w.woken) })
	stop, err := c.dir.watch(seen.name, func() { w.named.Store(true); w.wake() })
	w.add(stop, err)
	if seen.same(c.unmoved) {
		return w
	}
	if (err == nil || sys.IsKind(err, sys.NotExist)) && left(c.dir, seen.name, seen.info.ID) { // it was faster
		w.wake()
	}
	if seen.verdict == alive && seen.pid != c.sys.self().PID && c.isOurSpace(seen) {
		stop, err := c.sys.watchExit(seen.pid, w.wake)
		w.add(stop, err)
		if sys.IsKind(err, sys.NoProcess) && !c.runs(seen.pid) { // so was its end
			w.wake()
		}
	}
	return w
}

func (w *wakeup) add(stop func(), err error) {
	if err == nil {
		w.stops = append(w.stops, stop)
	}
}

func (c *contender) runs(pid int) bool {
	p := c.sys.probe(pid).Presence
	return p != sys.Absent && p != sys.Exited
}

// beatenTo reports whether another was faster: the pause for before was ended early, and block is something else. If it is
// the same after all, the reason will be there at the next pause too and must not end it: the number of a lock whose guard
// is held may mean nobody here, or a child that has ended.
func (c *contender) beatenTo(block, before *obstacle, w *wakeup) bool {
	if w == nil || !w.ended() {
		return false
	}
	if w.named.Load() || !block.seen().same(before.seen()) {
		return true
	}
	c.unmoved = block.seen()
	return false
}

// seen is what is in the way: the claim if there is one.
func (o *obstacle) seen() *sighting {
	if o.claim != nil {
		return o.claim
	}
	return o.lock
}

// same reports whether both are one publication of one record. An inode alone is not: its number is used again.
func (s *sighting) same(other *sighting) bool {
	if s == nil || other == nil || s.name != other.name || s.info.ID != other.info.ID || !bytes.Equal(s.bytes, other.bytes) {
		return false
	}
	if s.attribute == nil || other.attribute == nil {
		return s.attribute == other.attribute
	}
	return *s.attribute == *other.attribute
}

// isOurSpace reports whether the sighting's process number means to us what it meant to its writer, as far as is known.
func (c *contender) isOurSpace(s *sighting) bool {
	me := c.sys.self()
	return s.pid != 0 && (s.attribute == nil || s.attribute.Boot == me.Boot && s.attribute.PIDSpace == me.PIDSpace)
}

// stop ends the watching.
func (w *wakeup) stop() {
	for _, stop := range w.stops {
		stop()
	}
}

// ended reports whether something has ended the pause early.
func (w *wakeup) ended() bool {
	select {
	case <-w.woken:
		return w.woken != nil
	default:
		return false
	}
}
