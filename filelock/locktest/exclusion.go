package locktest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/filelock"
)

// Who has the lock, and who waits for it.

func oneHolder(t *trial) {
	lease := t.hold()
	t.mustBeHeld("held in this process")
	t.release(lease)

	other := t.start("hold")
	other.says("held")
	t.mustBeHeld("held by another process")
	other.end()
	t.mustBeFree("released by another process")
}

func goroutines(t *trial) {
	const many, each = 8, 25
	var inside, most, n atomic.Int32
	t.within("goroutines that take turns", func() {
		var all sync.WaitGroup
		for range many {
			all.Go(func() {
				for range each {
					err := filelock.Do(context.Background(), t.locker(filelock.Forever), func(context.Context, filelock.Lease) error {
						most.Store(max(most.Load(), inside.Add(1)))
						before := n.Load()
						for range 10 {
							runtime.Gosched()
						}
						n.Store(before + 1) // nothing but the lock protects it
						inside.Add(-1)
						return nil
					})
					if err != nil {
						t.Errorf("Do: %v", err)
					}
				}
			})
		}
		all.Wait()
	})
	if most.Load() != 1 || n.Load() != many*each {
		t.Errorf("%d goroutines were inside at once, and counted to %d instead of %d", most.Load(), n.Load(), many*each)
	}
}

func processes(t *trial) {
	var all []*child
	for range counting {
		c := t.start("count")
		c.says("ready")
		all = append(all, c)
	}
	for _, c := range all {
		c.in.Close()
	}
	for _, c := range all {
		c.end()
	}
	n, err := counted(t.setting.Dir)
	if err != nil || n != counting*countEach {
		t.Errorf("processes counted to %d instead of %d: %v", n, counting*countEach, err)
	}
}

func dropped(t *trial) {
	other := t.start("drop")
	other.says("held")
	t.mustBeHeld("dropped by a process that lives")
}

func twoLocks(t *trial) {
	t.hold()
	other := *t
	other.setting.Name += "2"
	other.mustBeFree("another name")
}

// oneTry looks whether an attempt that must not wait does.
func oneTry(t *trial) {
	t.hold()
	t.mustBeHeld("with a Locker that waits for ever")
	waits := t.wait(context.Background())
	t.mustBeHeld("while another waits")
	t.within("Acquire without a wait", func() {
		_, err := t.locker(0).Acquire(context.Background())
		t.isHeld(err)
	})
	if !waits.waits() {
		t.Error("one try ended another's wait")
	}
}

func waitEnds(t *trial) {
	t.hold()
	t.within("the end of a wait of 50 ms", func() {
		_, err := t.locker(50 * time.Millisecond).Acquire(context.Background())
		t.isHeld(err)
	})
	t.mustBeHeld("after a wait that came to nothing")
}

func releaseWakes(t *trial) {
	lease := t.hold()
	waiting := t.wait(context.Background())
	t.release(lease)
	next := waiting.got("a release in this process")
	t.mustBeHeld("passed on")
	t.release(next)

	other := t.start("hold")
	other.says("held")
	waiting = t.wait(context.Background())
	other.end()
	t.release(waiting.got("a release in another process"))
	t.mustBeFree("released by all")
}

func inOrder(t *trial) {
	if t.kind.Unordered {
		t.Skip("this kind serves waiters as it likes")
	}
	lease := t.hold()
	var line [8]*waiter
	for n := range line {
		line[n] = t.wait(context.Background())
	}
	for n, w := range line {
		t.release(lease)
		lease = w.got("the first of those who wait")
		for _, later := range line[n+1:] {
			if !later.waits() {
				t.Fatalf("waiter %d was overtaken", n)
			}
		}
	}
	t.release(lease)
}

func cancelledWait(t *trial) {
	cause := errors.New("the window was closed")
	lease := t.hold()
	before := t.names()
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	waiting := t.wait(ctx)
	cancel(cause)
	t.await(waiting.ended, "a wait whose context was cancelled")
	t.isEndOf(cause, waiting.err)
	if left := t.names(); left != before {
		t.Errorf("a cancelled wait left %s where %s was", left, before)
	}
	t.mustBeHeld("after a cancelled wait")
	if err := lease.Err(); err != nil {
		t.Errorf("a cancelled wait ended the holder's lease: %v", err)
	}
	t.release(lease)
	t.mustBeFree("nobody waits any more")
}

func endedContext(t *trial) {
	cause := errors.New("too late")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	for name, acquire := range map[string]func() (filelock.Lease, error){
		"Acquire":    func() (filelock.Lease, error) { return t.locker(filelock.Forever).Acquire(ctx) },
		"TryAcquire": func() (filelock.Lease, error) { return t.locker(filelock.Forever).TryAcquire(ctx) },
	} {
		t.within(name, func() {
			_, err := acquire()
			t.isEndOf(cause, err)
		})
	}
	t.mustBeFree("nobody could have taken it")
}

// isEndOf looks at the error of an acquisition whose context was cancelled.
func (t *trial) isEndOf(cause, err error) {
	t.Helper()
	if !errors.Is(err, context.Canceled) || !errors.Is(err, cause) {
		t.Errorf("the error of a cancelled acquisition does not match the context's error and its cause: %v", err)
	}
	if errors.Is(err, filelock.ErrUnavailable) {
		t.Errorf("the end of the caller's context matches ErrUnavailable: %v", err)
	}
}

// names are what lies in the lock's directory.
func (t *trial) names() (names string) {
	t.Helper()
	list, err := os.ReadDir(filepath.Clean(t.setting.Dir))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		names += e.Name() + "\n"
	}
	return names
}
