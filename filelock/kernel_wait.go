package filelock

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/internal/sys"
)

// kernelTable is what one process knows of its own kernel locks. Its queues work as those of record locks do, with the inode in
// the directory's place: everybody in a queue has it open.
type kernelTable struct {
	queues   *process
	sequence atomic.Uint64
	mu       sync.Mutex
	held     map[sys.FileID]int
}

func newKernelTable() *kernelTable {
	return &kernelTable{queues: newProcess(), held: map[sys.FileID]int{}}
}

func (t *kernelTable) hold(l *KernelLease) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.held[l.key.dir]++
}

func (t *kernelTable) unhold(l *KernelLease) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.held[l.key.dir]--; t.held[l.key.dir] == 0 {
		delete(t.held, l.key.dir)
	}
}

func (t *kernelTable) holds(id sys.FileID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.held[id] > 0
}

// The pauses of a waiter that is not woken: short at first, since a lock may be let go a moment after the wake, doubling up to
// the longest one. Where nothing wakes waiters, that costs about 1 % of a core.
const (
	firstBackoff   = 250 * time.Microsecond
	longestBackoff = 10 * time.Millisecond
)

type backoff struct{ last time.Duration }

func (b *backoff) next(woken bool) time.Duration {
	longest := longestBackoff
	if woken {
		longest = longestPause
	}
	b.last = min(max(2*b.last, firstBackoff), longest)
	return b.last
}

// closeWatch tells a waiter that somebody has closed the lock file. To end it costs as much as a hand-over: who got the lock
// leaves that for later.
type closeWatch struct {
	told  chan struct{}
	woken atomic.Bool
	end   func()
}

func watchClose(f lockFile) *closeWatch {
	w := &closeWatch{told: make(chan struct{}, 1)}
	end, err := f.WatchClose(func() {
		w.woken.Store(true)
		select {
		case w.told <- struct{}{}:
		default:
		}
	})
	if err == nil { // otherwise the back-off does without
		w.end = end
	}
	return w
}

func (w *closeWatch) works() bool { return w.end != nil }

// stop may be called on nil.
func (w *closeWatch) stop() {
	if w != nil && w.end != nil {
		w.end()
	}
}

// rest pauses until the next try.
func (c *kernelContender) rest(ctx context.Context, holder func() Holder) error {
	if err := c.pause(ctx, c.pace.next(c.watch.works()), c.watch.told, holder); err != nil {
		return err
	}
	if c.watch.woken.Swap(false) {
		c.pace = backoff{}
	}
	return nil
}

// pause is every pause of a wait: it is told of, it ends with the wait, and its only error is the end of the context.
func (c *kernelContender) pause(ctx context.Context, d time.Duration, wake <-chan struct{}, holder func() Holder) error {
	c.tellWaiting(holder)
	if c.sys.pause(ctx, min(d, c.opts.wait-c.waited()), wake) != nil {
		return newWaitError(ctx, c.full, holder(), c.waited())
	}
	return nil
}

// tellWaiting is called before each pause: it calls OnWait, and logs that the wait begins and, once, that it is long.
func (c *kernelContender) tellWaiting(holder func() Holder) {
	if !c.waits {
		c.waits = true
		c.log.Debug("waiting for lock", "path", c.full)
	}
	if c.opts.onWait != nil {
		c.opts.onWait(holder())
	}
	waited := c.waited()
	if c.said || waited < sayAfter {
		return
	}
	c.said = true
	h := holder()
	c.log.Info("still waiting for lock", "path", c.full, "pid", h.PID, "state", h.State, "why", h.Why,
		"command", h.Command, "since", h.Since, "waited", round(waited))
}
