package filelock

import (
	"context"
	"fmt"
	"slices"
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
	c.tellWaiting(holder)
	d := min(c.pace.next(c.watch.works()), c.opts.wait-c.waited())
	if c.sys.pause(ctx, d, c.watch.told) != nil {
		return newWaitError(ctx, c.full, holder(), c.waited())
	}
	if c.watch.woken.Swap(false) {
		c.pace = backoff{}
	}
	return nil
}

// queueUp waits until place is the head. One try does not queue.
func (c *kernelContender) queueUp(ctx context.Context, f lockFile, place *place) error {
	holder := func() Holder { return c.holder(f, place.key.dir) }
	for {
		waited := c.waited()
		if waited >= c.opts.wait {
			return &HeldError{Path: c.full, Holder: holder(), Waited: c.opts.spent(waited), Kernel: true}
		}
		c.tellWaiting(holder)
		d := c.opts.wait - waited
		switch {
		case c.opts.onWait != nil:
			d = min(d, longestPause)
		case waited < sayAfter:
			d = min(d, sayAfter-waited)
		}
		if c.sys.pause(ctx, d, place.turn) != nil {
			return newWaitError(ctx, c.full, holder(), c.waited())
		}
		select {
		case <-place.turn:
			return c.letOthers(ctx, place, holder)
		default:
		}
	}
}

// letOthers leaves the lock free for a while if goroutines of this process have handed it on among themselves for long.
func (c *kernelContender) letOthers(ctx context.Context, place *place, holder func() Holder) error {
	if c.opts.eager || !c.table.queues.overdue(place.key, c.sys.now()) {
		return nil
	}
	if c.sys.pause(ctx, longestPause, nil) != nil {
		return newWaitError(ctx, c.full, holder(), c.waited())
	}
	return nil
}

// tellWaiting calls OnWait before each pause and logs a long wait, once.
func (c *kernelContender) tellWaiting(holder func() Holder) {
	if c.opts.onWait != nil {
		c.opts.onWait(holder())
	}
	waited := c.waited()
	if c.said || waited < sayAfter || c.log.to == nil {
		return
	}
	c.said = true
	h := holder()
	c.log.info("still waiting for lock", "path", c.full, "pid", h.PID, "state", h.State, "why", h.Why,
		"command", h.Command, "since", h.Since, "waited", round(waited))
}

// holder says who has the lock, as far as the kernel names it, else as far as the file's metadata does.
func (c *kernelContender) holder(f lockFile, id sys.FileID) Holder {
	me := c.sys.self().PID
	m, known := readMetadata(f)
	h := Holder{PID: m.PID, Why: "its metadata names it, which is a hint"}
	pids := c.sys.lockedBy(id)
	if len(pids) > 0 {
		h = Holder{PID: pids[0], Why: "the kernel names it"}
		if slices.Contains(pids, me) {
			h.PID = me
		}
	} else if !known {
		return Holder{State: Unproven, Why: "its metadata names nobody"}
	}
	if info, err := f.Stat(); err == nil && known && m.PID == h.PID {
		h.Since = info.ModTime
	}
	c.judgeHolder(&h, h.PID == me && c.table.holds(id), len(pids) > 0)
	return h
}

func (c *kernelContender) judgeHolder(h *Holder, ours, byKernel bool) {
	if ours {
		h.State = Ourselves
		return
	}
	if !byKernel && h.PID == c.sys.self().PID {
		h.State, h.Why = Unproven, fmt.Sprintf("its metadata names our own PID %d, and we do not hold it", h.PID)
		return
	}
	switch c.sys.probe(h.PID).Presence {
	case sys.Present:
		h.State = Alive
	case sys.Forbidden:
		h.State = OtherUser
	case sys.Absent, sys.Exited:
		h.State, h.Why = Unproven, fmt.Sprintf("PID %d took it last and has ended", h.PID)
		return
	default:
		h.State, h.Why = Unproven, fmt.Sprintf("the system does not say whether PID %d runs", h.PID)
		return
	}
	d := c.sys.describe(h.PID)
	h.Command, h.Started = d.Command, d.Started
}
