package filelock

import (
	"context"
	"errors"
	"time"
)

// Locker is one lock that can be taken again and again: [Record], [Kernel], [KernelAt], [Named]. It may be used by several
// goroutines, which exclude each other as processes do.
type Locker interface {
	// Acquire waits as long as the locker's [Wait] says. If the error is nil, nobody else who asks for this lock has it
	// until the lease is over. Errors of the family [ErrUnavailable] say that another try may succeed; the end of ctx is
	// its own error, with its cause.
	Acquire(ctx context.Context) (Lease, error)

	// TryAcquire is one attempt.
	TryAcquire(ctx context.Context) (Lease, error)
}

// Lease is one holding of a lock. Its methods may be called from any goroutine. A lease may also say how it came about and
// how long it lasts: see [TakeoverOf], [FenceOf] and [DeadlineOf].
type Lease interface {
	Done() <-chan struct{} // closed when this holding is over: released or lost
	Err() error            // nil while held, ErrReleased, or a *LostError
	Release() error        // gives the lock up; the first call acts, others return nil
}

// TakeoverOf returns the dead predecessor that had not given the lock up, if the lease knows of one: what the lock protects
// may be half done.
func TakeoverOf(l Lease) (Takeover, bool) {
	if t, ok := l.(interface{ Takeover() (Takeover, bool) }); ok {
		return t.Takeover()
	}
	return Takeover{}, false
}

// FenceOf returns the lease's fencing number, which rises with each lease of a lock, so that what it protects can refuse
// those that come too late. Locks on one machine have none.
func FenceOf(l Lease) (fence uint64, ok bool) {
	if f, ok := l.(interface{ Fence() uint64 }); ok {
		return f.Fence(), true
	}
	return 0, false
}

// DeadlineOf returns when the lease ends unless it is renewed. A lock that is held until its release or the end of its
// process has none.
func DeadlineOf(l Lease) (deadline time.Time, ok bool) {
	if d, ok := l.(interface{ Deadline() time.Time }); ok {
		return d.Deadline(), true
	}
	return time.Time{}, false
}

// Record is the lock of the file at path as [Acquire] takes it, with a *[Lock] for each lease.
func Record(path string, opts ...Option) Locker { return recordLocker{path, newOptions(opts)} }

type recordLocker struct {
	path string
	opts options
}

func (r recordLocker) Acquire(ctx context.Context) (Lease, error) {
	return leased(acquire(ctx, osSystem{}, thisProcess, r.path, r.opts))
}

func (r recordLocker) TryAcquire(ctx context.Context) (Lease, error) {
	r.opts.wait = 0
	return r.Acquire(ctx)
}

// leased is a lease that is nil if the lock is.
func leased(l *Lock, err error) (Lease, error) {
	if err != nil {
		return nil, err
	}
	return l, nil
}

// Do runs fn while holding the lock, and returns fn's error. The context given to fn ends with a cause that matches
// [ErrLost] if the lock is lost; Do then returns that error, joined with fn's own, even if fn returned nil. If fn panics, the
// lock is released and the panic goes on. fn does not run if the lock cannot be had; the errors are the locker's.
//
// A call for the same lock, of the same kind, with a context that comes from fn's returns [ErrReentrant] at once.
func Do(ctx context.Context, l Locker, fn func(ctx context.Context, lease Lease) error) (err error) {
	lease, err := l.Acquire(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if released := lease.Release(); released != nil && !errors.Is(err, released) { // fn may have returned its context's cause
			err = errors.Join(err, released)
		}
	}()
	inner, cancel := context.WithCancelCause(withHeld(ctx, lease))
	defer cancel(ErrReleased)
	defer onLoss(lease, cancel)()
	return fn(inner, lease)
}

// onLoss has cancel called with the lease's error if it is lost before stop is called.
func onLoss(lease Lease, cancel context.CancelCauseFunc) (stop func()) {
	if l, ok := lease.(*Lock); ok {
		l.onLoss(cancel)
		return func() {}
	}
	over := make(chan struct{})
	go func() {
		select {
		case <-lease.Done():
			if err := lease.Err(); !errors.Is(err, ErrReleased) {
				cancel(err)
			}
		case <-over:
		}
	}()
	return func() { close(over) }
}

type heldKey struct{}

// heldLeases is the chain of leases that a context's callers hold.
type heldLeases struct {
	lease Lease
	outer *heldLeases
}

func withHeld(ctx context.Context, l Lease) context.Context {
	outer, _ := ctx.Value(heldKey{}).(*heldLeases)
	return context.WithValue(ctx, heldKey{}, &heldLeases{l, outer})
}

// HeldBy reports whether ctx comes from the function of a [Do] whose lease is this one and is still held. A Locker asks it
// before it waits, and answers [ErrReentrant].
func HeldBy(ctx context.Context, is func(Lease) bool) bool {
	h, _ := ctx.Value(heldKey{}).(*heldLeases)
	for ; h != nil; h = h.outer {
		if is(h.lease) && h.lease.Err() == nil {
			return true
		}
	}
	return false
}
