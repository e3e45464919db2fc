package filelock

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/holdfast-go/holdfast/internal/sys"
)

// The goroutines of one process take their turns at a kernel lock, first come, first served. A reader has a place only until it
// has the lock. Readers that have none but readers before them do not wait for their turn, so that no reader keeps another
// out; a writer that waits keeps out those who come later.

// join takes the last place of the queue. head: it is the first as well. free: whoever is before it keeps it from nothing.
func (c *kernelContender) join(k key) (mine *place, head, free bool) {
	if !c.opts.shared {
		mine, head = c.table.queues.join(k)
		return mine, head, head
	}
	return c.table.queues.joinReaders(k)
}

func (p *process) joinReaders(k key) (mine *place, head, free bool) {
	mine = &place{key: k, turn: make(chan struct{}), shared: true}
	p.mu.Lock()
	defer p.mu.Unlock()
	line := p.queues[k]
	p.queues[k] = append(line, mine)
	return mine, len(line) == 0, !slices.ContainsFunc(line, func(other *place) bool { return !other.shared })
}

// lockInTurn locks the file once it is this acquisition's turn in its process, and then runs become. Unless that returns nil,
// nothing is watched afterwards, the place in the queue is given up and the file closed, in this order: when it is closed its
// inode's number may be another lock's.
func (c *kernelContender) lockInTurn(ctx context.Context, f lockFile, k key, become func(*place) error) error {
	place, head, free := c.join(k)
	kept := false
	defer func() {
		if !kept {
			c.watch.stop()
			c.watch = nil
			c.table.queues.leave(place)
			f.Close()
		}
	}()
	locked := false
	if free && !head {
		var err error
		if locked, err = c.tryLock(f); err != nil {
			return err
		}
	}
	if !locked && !head {
		if err := c.queueUp(ctx, f, place); err != nil {
			return err
		}
	}
	if !locked {
		if err := c.lock(ctx, f, k.dir); err != nil {
			return err
		}
	}
	if err := become(place); err != nil {
		return err
	}
	kept = true
	return nil
}

// queueUp waits until place is the head. One try does not queue.
func (c *kernelContender) queueUp(ctx context.Context, f lockFile, place *place) error {
	holder := func() Holder { return c.holderBefore(f, place.key.dir) }
	for {
		waited := c.waited()
		if waited >= c.opts.wait {
			return &HeldError{Path: c.full, Holder: holder(), Waited: c.opts.spent(waited), Kernel: true}
		}
		d := c.opts.wait
		switch {
		case c.opts.onWait != nil:
			d = longestPause
		case waited < sayAfter:
			d = sayAfter - waited
		}
		if err := c.pause(ctx, d, place.turn, holder); err != nil {
			return err
		}
		select {
		case <-place.turn:
			return c.letOthers(ctx, f, place.key)
		default:
		}
	}
}

// letOthers leaves the lock free for a while if goroutines of this process have handed it on among themselves for long. A
// reader does not: others of this process go on reading meanwhile.
func (c *kernelContender) letOthers(ctx context.Context, f lockFile, k key) error {
	if c.opts.eager || c.opts.shared || !c.table.queues.overdue(k, c.sys.now()) {
		return nil
	}
	return c.pause(ctx, longestPause, nil, func() Holder { return c.holder(f, k.dir) })
}

// tryLock tries once.
func (c *kernelContender) tryLock(f lockFile) (locked bool, err error) {
	err = f.TryLock(!c.opts.shared)
	switch {
	case err == nil:
		return true, nil
	case sys.IsKind(err, sys.WouldBlock):
		return false, nil
	case sys.IsKind(err, sys.Unsupported, sys.NoLocks):
		err = fmt.Errorf("%w (%w)", err, errors.ErrUnsupported)
	}
	return false, &Error{"lock the file", c.full, err}
}
