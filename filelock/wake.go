package filelock

import (
	"context"
	"sync"
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
	if rest <= 0 || c.sys.pause(ctx, rest, nil) == nil {
		return nil
	}
	return newWaitError(ctx, c.lockPath(), c.ourselves(k), c.sys.now().Sub(c.started))
}

// wakeup is what may end a pause early: the obstacle's name means something else, or its process has ended.
type wakeup struct {
	woken chan struct{} // nil: nothing does
	wake  func()
	stops []func()
}

// watch arranges to be woken when block changes. What the system refuses is done without: the pause ends by itself.
func (c *contender) watch(block *obstacle) *wakeup {
	w := &wakeup{}
	seen := block.claim
	if seen == nil {
		seen = block.lock
	}
	if seen == nil || c.sitsOut {
		return w
	}
	w.woken = make(chan struct{})
	w.wake = sync.OnceFunc(func() { close(w.woken) })
	stop, err := c.dir.watch(seen.name, w.wake)
	w.add(stop, err)
	if err == nil && !c.means(seen.name, seen.info.ID) { // it was faster
		w.wake()
	}
	if seen.verdict == alive && seen.pid != c.sys.self().PID && c.isOurSpace(seen) {
		w.add(c.sys.watchExit(seen.pid, w.wake))
	}
	return w
}

func (w *wakeup) add(stop func(), err error) {
	switch {
	case err == nil:
		w.stops = append(w.stops, stop)
	case sys.IsKind(err, sys.NotExist, sys.NoProcess): // it was faster
		w.wake()
	}
}

// isOurSpace reports whether the sighting's process number means to us what it meant to its writer, as far as is known.
func (c *contender) isOurSpace(s *sighting) bool {
	me := c.sys.self()
	return s.pid != 0 && (s.attribute == nil || s.attribute.Boot == me.Boot && s.attribute.PIDSpace == me.PIDSpace)
}

// stop ends the watching and reports whether the pause was ended by it.
func (w *wakeup) stop() (woken bool) {
	for _, stop := range w.stops {
		stop()
	}
	select {
	case <-w.woken:
		return w.woken != nil
	default:
		return false
	}
}
