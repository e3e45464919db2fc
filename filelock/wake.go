package filelock

import (
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/sys"
)

// mostLostRaces is how often a waiter may be woken and find that another was faster. Then it goes on at the plain cadence:
// woken waiters fill every gap, and peers that only poll, as Node writers do each 200 ms, would never find the lock free.
const mostLostRaces = 2

// longestStreak is how long the goroutines of one process may hand a lock on among themselves before they leave it free
// for as long as a polling peer pauses, for the same reason.
const longestStreak = time.Second

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
	if seen == nil || c.lostRaces >= mostLostRaces && !c.opts.eager {
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
