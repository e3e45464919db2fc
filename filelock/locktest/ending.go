package locktest

import (
	"context"
	"errors"
	"sync"

	"github.com/holdfast-go/holdfast/filelock"
)

// How a holding ends, and who is told.

func endIsTold(t *trial) {
	lease := t.hold()
	select {
	case <-lease.Done():
		t.Error("Done is closed while the lock is held")
	default:
	}
	if err := lease.Err(); err != nil {
		t.Errorf("Err while the lock is held: %v", err)
	}
	t.release(lease)
	t.await(lease.Done(), "Done after Release")
	if err := lease.Err(); !errors.Is(err, filelock.ErrReleased) {
		t.Errorf("Err after Release does not match ErrReleased: %v", err)
	}
}

func releasedElsewhere(t *trial) {
	lease := t.hold()
	released := make(chan error, 1)
	go func() { released <- lease.Release() }()
	t.within("Release in another goroutine", func() {
		if err := <-released; err != nil {
			t.Errorf("Release in another goroutine: %v", err)
		}
	})
	t.mustBeFree("released in another goroutine")
}

func releasedTwice(t *trial) {
	lease := t.hold()
	t.release(lease)
	t.release(lease)
	next := t.hold()
	t.release(lease)
	t.mustBeHeld("by somebody else than who releases again")
	if err := next.Err(); err != nil {
		t.Errorf("a second release ended another's lease: %v", err)
	}
}

func releasedTwiceAtOnce(t *trial) {
	for range 50 {
		lease := t.hold()
		begin := make(chan struct{})
		t.within("two releases at once", func() {
			var both sync.WaitGroup
			for range 2 {
				both.Go(func() {
					<-begin
					if err := lease.Release(); err != nil {
						t.Errorf("Release, twice at once: %v", err)
					}
				})
			}
			close(begin)
			both.Wait()
		})
	}
	t.mustBeFree("released")
}

func killedHolder(t *trial) {
	holder := t.start("hold")
	holder.says("held")
	waiting := t.wait(context.Background())
	holder.kill()
	lease := waiting.got("the death of a holder that was waited for")
	t.tells(lease, holder, t.kind.Told)
	t.mustBeHeld("after the death of another holder")
	t.release(lease)

	next := t.hold()
	if _, told := filelock.TakeoverOf(next); told {
		t.Error("who follows a holder that released is told of a takeover")
	}
	t.release(next)

	holder = t.start("hold")
	holder.says("held")
	holder.kill()
	t.within("the lock of a holder that was killed before", func() {
		lease, err := t.locker(filelock.Forever).Acquire(context.Background())
		if err != nil {
			t.Errorf("Acquire after a holder was killed: %v", err)
			return
		}
		t.tells(lease, holder, t.kind.ToldLater)
		t.release(lease)
	})
}

// tells looks whether the lease names its dead predecessor, as it should or should not.
func (t *trial) tells(lease filelock.Lease, dead *child, should bool) {
	t.Helper()
	taken, told := filelock.TakeoverOf(lease)
	if told != should {
		t.Errorf("who follows a killed holder is told: %v, the kind says %v", told, should)
	}
	if pid := dead.cmd.Process.Pid; told && taken.PID != 0 && taken.PID != pid {
		t.Errorf("the dead holder was %d and is said to be %d", pid, taken.PID)
	}
}

// losable ends the check where there is nothing to check.
func (t *trial) losable() {
	t.Helper()
	if t.kind.Lose == nil {
		t.Skip("nobody can take this kind of lock away")
	}
}

// lose takes the lock from its holder.
func (t *trial) lose() {
	t.Helper()
	if err := t.kind.Lose(t.setting); err != nil {
		t.Fatalf("Lose: %v", err)
	}
}

func lossIsTold(t *trial) {
	t.losable()
	lease := t.hold()
	t.lose()
	t.await(lease.Done(), "Done after a loss")
	if err := lease.Err(); !errors.Is(err, filelock.ErrLost) {
		t.Errorf("Err after a loss does not match ErrLost: %v", err)
	}
	if err := lease.Release(); !errors.Is(err, filelock.ErrLost) {
		t.Errorf("Release after a loss does not match ErrLost: %v", err)
	}
	t.release(lease)
	if err := lease.Err(); !errors.Is(err, filelock.ErrLost) {
		t.Errorf("Err after the release of a lost lock does not match ErrLost: %v", err)
	}
	t.mustBeFree("lost")
}

func lossEndsDo(t *trial) {
	t.losable()
	own := errors.New("own")
	for _, result := range []error{nil, own} {
		t.within("Do whose lock is lost", func() {
			err := filelock.Do(context.Background(), t.locker(0), func(ctx context.Context, _ filelock.Lease) error {
				t.lose()
				t.await(ctx.Done(), "the context of a function whose lock is lost")
				if cause := context.Cause(ctx); !errors.Is(cause, filelock.ErrLost) {
					t.Errorf("the context's cause after a loss does not match ErrLost: %v", cause)
				}
				return result
			})
			if !errors.Is(err, filelock.ErrLost) || result != nil && !errors.Is(err, result) {
				t.Errorf("Do whose lock was lost and whose function returned %v: %v", result, err)
			}
		})
	}
}

func loserTouchesNothing(t *trial) {
	t.losable()
	loser := t.hold()
	t.lose()
	t.await(loser.Done(), "Done after a loss")
	next := t.hold()
	loser.Release()
	t.mustBeHeld("by the loser's successor")
	if err := next.Err(); err != nil {
		t.Errorf("a loser's release ended its successor's lease: %v", err)
	}
	t.release(next)
}

func doReturns(t *trial) {
	own := errors.New("own")
	for _, result := range []error{nil, own} {
		t.within("Do", func() {
			err := filelock.Do(context.Background(), t.locker(0), func(ctx context.Context, lease filelock.Lease) error {
				if ctx.Err() != nil || lease.Err() != nil {
					t.Errorf("within Do: %v, %v", ctx.Err(), lease.Err())
				}
				return result
			})
			if err != result {
				t.Errorf("Do whose function returned %v: %v", result, err)
			}
		})
	}
	t.mustBeFree("Do has returned")
}

func panicReleases(t *trial) {
	t.within("Do whose function panics", func() {
		defer func() {
			if what := recover(); what != "boom" {
				t.Errorf("a panic of %q became %v", "boom", what)
			}
		}()
		err := filelock.Do(context.Background(), t.locker(0), func(context.Context, filelock.Lease) error { panic("boom") })
		t.Errorf("Do returned %v although its function panicked", err)
	})
	t.mustBeFree("the function has panicked")
}

func nested(t *trial) {
	t.within("a nested acquisition", func() {
		err := filelock.Do(context.Background(), t.locker(0), func(ctx context.Context, lease filelock.Lease) error {
			isTold := func(how string, err error) {
				if !errors.Is(err, filelock.ErrReentrant) {
					t.Errorf("%s within Do does not match ErrReentrant: %v", how, err)
				}
				if errors.Is(err, filelock.ErrUnavailable) {
					t.Errorf("%s within Do matches ErrUnavailable: %v", how, err)
				}
			}
			_, err := t.locker(filelock.Forever).Acquire(ctx)
			isTold("Acquire", err)
			_, err = t.locker(filelock.Forever).TryAcquire(ctx)
			isTold("TryAcquire", err)
			deeper := *t
			deeper.setting.Name += "2"
			isTold("Do in Do of another lock", filelock.Do(ctx, deeper.locker(0), func(ctx context.Context, _ filelock.Lease) error {
				return filelock.Do(ctx, t.locker(filelock.Forever), nil)
			}))
			if err := lease.Release(); err != nil {
				return err
			}
			again, err := t.locker(0).Acquire(ctx)
			if err != nil {
				t.Errorf("Acquire with the context of a lock that was released: %v", err)
				return nil
			}
			return again.Release()
		})
		if err != nil {
			t.Errorf("Do: %v", err)
		}
	})
}
