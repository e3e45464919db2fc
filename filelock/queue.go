package filelock

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/sys"
)

// process is what one process knows of its own locks: who of its goroutines queues for which, and which it holds.
// Only the head of a queue touches the disk; it stays the head until it has released or lost the lock.
//
// The table of held locks keeps each *Lock reachable: a lock whose caller dropped it is still held.
type process struct {
	mu     sync.Mutex
	queues map[key][]*place
	held   map[sys.FileID]*Lock
	// since when each queue has not been empty, or had last left the lock to others
	streaks map[key]time.Time
	// until when each lock that was won against others is left to them
	rests map[key]time.Time
}

func newProcess() *process {
	return &process{queues: map[key][]*place{}, held: map[sys.FileID]*Lock{}, streaks: map[key]time.Time{}, rests: map[key]time.Time{}}
}

// key is one lock of this process: directories by identity, so that two spellings of one path are one lock. Everybody in
// the queue has the directory open, which keeps its identity from being used again.
type key struct {
	dir  sys.FileID
	name string
}

// place is one goroutine's place in a queue.
type place struct {
	key    key
	turn   chan struct{} // closed when the place is the head
	shared bool          // it is a reader's, in the queue of a kernel lock
	block  *obstacle     // what keeps the head from a record lock, as it was last seen; nil if it has it, or has not looked
}

// join takes the last place of the queue; head reports whether that is the first as well.
func (p *process) join(k key) (mine *place, head bool) {
	mine = &place{key: k, turn: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queues[k] = append(p.queues[k], mine)
	return mine, len(p.queues[k]) == 1
}

// leave gives the place up; whoever becomes the head is told. Leaving twice does nothing.
func (p *process) leave(mine *place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	line := p.queues[mine.key]
	at := slices.Index(line, mine)
	if at < 0 {
		return
	}
	line = slices.Delete(line, at, at+1)
	if len(line) == 0 {
		delete(p.queues, mine.key)
		delete(p.streaks, mine.key)
		return
	}
	p.queues[mine.key] = line
	if at == 0 {
		close(line[0].turn)
	}
}

// overdue reports whether the goroutines of this process have handed the lock on among themselves for so long that others
// should have it, and begins a new count.
func (p *process) overdue(k key, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	since, ok := p.streaks[k]
	overdue := ok && now.Sub(since) >= longestStreak
	if overdue || !ok {
		p.streaks[k] = now
	}
	return overdue
}

// owe has this process leave the lock to others for a time, beginning now.
func (p *process) owe(k key, now time.Time, rest time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.rests, func(_ key, until time.Time) bool { return !until.After(now) })
	p.rests[k] = now.Add(rest)
}

// rest is how much of that time is left.
func (p *process) rest(k key, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rests[k].Sub(now)
}

func (p *process) hold(l *Lock) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held[l.inode.id] = l
	l.place.block = nil
}

// sees notes what keeps the head of a queue from the lock, for those behind it, who do not look themselves.
func (p *process) sees(head *place, block *obstacle) {
	p.mu.Lock()
	defer p.mu.Unlock()
	head.block = block
}

// ahead is what the head of the queue saw last.
func (p *process) ahead(k key) *obstacle {
	p.mu.Lock()
	defer p.mu.Unlock()
	if line := p.queues[k]; len(line) > 0 {
		return line[0].block
	}
	return nil
}

func (p *process) unhold(l *Lock) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held[l.inode.id] == l {
		delete(p.held, l.inode.id)
	}
}

// holds reports whether this process holds the lock with this inode.
func (p *process) holds(id sys.FileID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held[id] != nil
}

// holder returns the held lock with this key, if there is one.
func (p *process) holder(k key) *Lock {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.held {
		if l.place.key == k {
			return l
		}
	}
	return nil
}

// queueUp waits until place is the head. One try does not queue.
func (c *contender) queueUp(ctx context.Context, place *place) error {
	holder := func() Holder { return c.holderBefore(place.key) }
	for {
		waited := c.sys.now().Sub(c.started)
		if waited >= c.opts.wait {
			if block := c.process.ahead(place.key); block != nil {
				return c.giveUp(block, waited)
			}
			return &HeldError{Path: c.lockPath(), Holder: c.ourselves(place.key), Waited: c.opts.spent(waited)}
		}
		c.tellWaiting(holder)
		d := c.opts.wait - waited
		switch {
		case c.opts.onWait != nil:
			d = min(d, longestPause)
		case waited < sayAfter:
			d = min(d, sayAfter-waited)
		}
		if err := c.sys.pause(ctx, d, place.turn); err != nil {
			return newWaitError(ctx, c.lockPath(), holder(), c.sys.now().Sub(c.started))
		}
		select {
		case <-place.turn:
			return nil
		default:
		}
	}
}
