package locktest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/filelock"
)

// What checks are made of. Everything that could last for ever is given up after the trial's patience.

// locker is the trial's lock for an acquisition that waits this long.
func (t *trial) locker(wait time.Duration) filelock.Locker {
	s := t.setting
	s.Wait = wait
	return t.kind.New(s)
}

// within runs f and fails the check if it does not return.
func (t *trial) within(what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	t.await(done, what)
}

// await waits for c to be closed or to have a value.
func (t *trial) await(c <-chan struct{}, what string) {
	t.Helper()
	limit := time.NewTimer(t.patience)
	defer limit.Stop()
	select {
	case <-c:
	case <-limit.C:
		t.Fatalf("%s: nothing within %v", what, t.patience)
	}
}

// try is one attempt.
func (t *trial) try() (lease filelock.Lease, err error) {
	t.Helper()
	t.within("TryAcquire", func() { lease, err = t.locker(filelock.Forever).TryAcquire(context.Background()) })
	return lease, err
}

// hold takes the lock, which must be free.
func (t *trial) hold() filelock.Lease {
	t.Helper()
	lease, err := t.try()
	if err != nil {
		t.Fatalf("TryAcquire of a free lock: %v", err)
	}
	t.Cleanup(func() { lease.Release() })
	return lease
}

func (t *trial) release(lease filelock.Lease) {
	t.Helper()
	t.within("Release", func() {
		if err := lease.Release(); err != nil {
			t.Errorf("Release: %v", err)
		}
	})
}

// mustBeHeld asks from this process.
func (t *trial) mustBeHeld(why string) {
	t.Helper()
	lease, err := t.try()
	if err == nil {
		lease.Release()
		t.Fatalf("%s: TryAcquire got a lock that should be held", why)
	}
	t.isHeld(err)
}

// isHeld looks at the error of an acquisition that found the lock held.
func (t *trial) isHeld(err error) {
	t.Helper()
	if !errors.Is(err, filelock.ErrHeld) {
		t.Errorf("the error of a held lock does not match ErrHeld: %v", err)
	}
	if !errors.Is(err, filelock.ErrUnavailable) {
		t.Errorf("the error of a held lock does not match ErrUnavailable: %v", err)
	}
	for _, other := range []error{filelock.ErrLost, filelock.ErrReleased, filelock.ErrReentrant, context.Canceled} {
		if errors.Is(err, other) {
			t.Errorf("the error of a held lock matches %v: %v", other, err)
		}
	}
}

// mustBeFree takes the lock and lets it go.
func (t *trial) mustBeFree(why string) {
	t.Helper()
	lease, err := t.try()
	if err != nil {
		t.Fatalf("%s: TryAcquire: %v", why, err)
	}
	t.release(lease)
}

// waiter is an acquisition that has found the lock held and waits until its context ends.
type waiter struct {
	t     *trial
	ended chan struct{}
	lease filelock.Lease
	err   error
}

// wait begins an acquisition and returns once that waits.
func (t *trial) wait(ctx context.Context) *waiter {
	t.Helper()
	w := &waiter{t: t, ended: make(chan struct{})}
	waits := make(chan struct{})
	s := t.setting
	s.Wait, s.OnWait = filelock.Forever, sync.OnceFunc(func() { close(waits) })
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer close(w.ended)
		w.lease, w.err = t.kind.New(s).Acquire(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		select {
		case <-w.ended:
			if w.err == nil {
				w.lease.Release()
			}
		default: // it does not end, and what has failed says so
		}
	})
	limit := time.NewTimer(t.patience)
	defer limit.Stop()
	select {
	case <-waits:
	case <-w.ended:
		t.Fatalf("an acquisition of a held lock did not wait: %v", w.err)
	case <-limit.C:
		t.Fatalf("an acquisition of a held lock did not call OnWait within %v", t.patience)
	}
	return w
}

// got is the waiter's lease, which it must have soon.
func (w *waiter) got(why string) filelock.Lease {
	w.t.Helper()
	w.t.await(w.ended, why)
	if w.err != nil {
		w.t.Fatalf("%s: Acquire: %v", why, w.err)
	}
	return w.lease
}

// waits reports that the waiter still waits.
func (w *waiter) waits() bool {
	select {
	case <-w.ended:
		return false
	default:
		return true
	}
}
