package filelock

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/sys"
)

// endless is a pause that only a wake-up or the context ends.
func endless(ctx context.Context, _ time.Duration, wake <-chan struct{}) error {
	select {
	case <-wake:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Where the system refuses to watch anything, a waiter goes on at the fixed cadence, and that is nothing to complain of.
func TestWatchesRefused(t *testing.T) {
	for _, kind := range []sys.Kind{sys.NoSpace, sys.TooManyFiles, sys.Unsupported, sys.NotPermitted, sys.AccessDenied, sys.Invalid, sys.NotExist, sys.NoProcess, sys.Other} {
		path := target(t)
		holder := start(t, command("hold", path))
		require.Contains(t, holder.line(), "held ")
		s := newStepped(refuse(kind, "watch", "watchExit"))
		var pauses []time.Duration
		s.pauses = func(_ context.Context, d time.Duration, wake <-chan struct{}) error {
			pauses = append(pauses, d)
			select {
			case <-wake:
				assert.Fail(t, "woken", kind)
			default:
			}
			if len(pauses) == 6 {
				holder.end()
			}
			return nil
		}
		var out bytes.Buffer
		l, err := acquireFor(t, s, newProcess(), path, Wait(Forever),
			Logger(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))))
		require.NoError(t, err, kind)
		require.NoError(t, l.Release())
		const ms = time.Millisecond
		assert.Equal(t, []time.Duration{20 * ms, 40 * ms, 80 * ms, 160 * ms, 200 * ms, 200 * ms}, pauses, kind)
		for _, line := range []string{"level=WARN", "level=ERROR", kind.Error()} {
			assert.NotContains(t, out.String(), line)
		}
	}
}

// The goroutines of a process hand the lock on among themselves, for a while.
func TestStreak(t *testing.T) {
	for name, c := range map[string]struct {
		opts []Option
		want []int // how often the lock was left to others, after each hand-over
	}{
		"courteous": {nil, []int{0, 0, 1, 1, 2}},
		"eager":     {[]Option{Eager()}, []int{0, 0, 0, 0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			path := target(t)
			s := newStepped(nil)
			s.pauseFor = true
			queued, left := make(chan struct{}, 10), make(chan time.Duration, 10)
			s.pauses = func(ctx context.Context, d time.Duration, wake <-chan struct{}) error {
				if wake != nil {
					queued <- struct{}{}
					return endless(ctx, d, wake)
				}
				left <- d
				l, err := try(t, path)
				if assert.NoError(t, err, "another process could have it now") {
					assert.NoError(t, l.Release())
				}
				return nil
			}
			p := newProcess()
			held, err := acquireFor(t, s, p, path)
			require.NoError(t, err)
			got := make(chan *Lock)
			for range c.want {
				go func() {
					l, err := acquire(context.Background(), s, p, path, newOptions(append([]Option{Wait(Forever)}, c.opts...)))
					assert.NoError(t, err)
					got <- l
				}()
				<-queued
			}
			lasts := []time.Duration{0, longestStreak - 1, 1, 0, longestStreak}
			for n, times := range c.want {
				s.mu.Lock()
				s.virtual += lasts[n]
				s.mu.Unlock()
				require.NoError(t, held.Release())
				held = <-got
				require.Len(t, left, times, "hand-over %d", n)
			}
			require.NoError(t, held.Release())
			for range len(left) {
				assert.Equal(t, longestPause, <-left, "as long as a peer that polls pauses")
			}
			assert.Empty(t, p.streaks, "nobody waits: the next streak begins anew")
			assert.Empty(t, p.queues)
		})
	}
}

// A context that ends while the lock is left to others is the end of that acquisition only.
func TestCancelledCourtesy(t *testing.T) {
	path := target(t)
	cause := errors.New("the window was closed")
	ctx, cancel := context.WithCancelCause(context.Background())
	s := newStepped(nil)
	s.pauseFor = true
	queued := make(chan struct{}, 10)
	courtesies := 0
	s.pauses = func(ctx context.Context, d time.Duration, wake <-chan struct{}) error {
		if wake != nil {
			queued <- struct{}{}
			return endless(ctx, d, wake)
		}
		courtesies++
		cancel(cause)
		<-ctx.Done()
		return context.Cause(ctx)
	}
	p := newProcess()
	held, err := acquireFor(t, s, p, path)
	require.NoError(t, err)
	var ended [3]chan error
	for n, ctx := range []context.Context{context.Background(), ctx, context.Background()} {
		ended[n] = make(chan error)
		go func() {
			l, err := acquire(ctx, s, p, path, newOptions([]Option{Wait(Forever)}))
			if err == nil {
				s.mu.Lock()
				s.virtual += longestStreak
				s.mu.Unlock()
				err = l.Release()
			}
			ended[n] <- err
		}()
		<-queued
	}
	require.NoError(t, held.Release())
	require.NoError(t, <-ended[0])
	err = <-ended[1]
	require.ErrorIs(t, err, cause)
	assert.ErrorIs(t, err, context.Canceled)
	require.NoError(t, <-ended[2], "who comes next in the queue")
	assert.Equal(t, 1, courtesies)
	assert.Empty(t, p.queues)
	assert.Empty(t, entries(t, path))
}

// A state that stays ends one pause at most, and is no lost race: the number of a lock whose guard is held can mean nobody
// here, as behind a network share.
func TestGuardOfAnotherMachine(t *testing.T) {
	for name, opts := range map[string][]Option{"courteous": nil, "eager": {Eager()}} {
		t.Run(name, func(t *testing.T) {
			path := target(t)
			write(t, path+lockSuffix, record(deadPID(t)))
			guard, err := sys.OpenFile(path + lockSuffix)
			require.NoError(t, err)
			require.NoError(t, guard.TryLock(true))
			s := newStepped(nil)
			cut, pauses := 0, 0
			s.pauses = func(_ context.Context, _ time.Duration, wake <-chan struct{}) error {
				select {
				case <-wake:
					cut++
				default:
				}
				if pauses++; pauses == 10 {
					assert.NoError(t, guard.Close())
				}
				return nil
			}
			p := newProcess()
			l, err := acquireFor(t, s, p, path, append(opts, Wait(Forever))...)
			require.NoError(t, err)
			require.NoError(t, l.Release())
			assert.Equal(t, 10, pauses)
			assert.LessOrEqual(t, cut, 1)
			assert.Empty(t, p.rests, "nobody was faster")
		})
	}
}

// A process that leaves the lock to others says so as often as a waiter does.
func TestCourtesyIsTold(t *testing.T) {
	path := target(t)
	s := newStepped(nil)
	s.pauseFor = true
	p := newProcess()
	l, err := acquireFor(t, s, p, path)
	require.NoError(t, err)
	k := l.place.key
	require.NoError(t, l.Release())
	p.owe(k, s.now(), winnersRest-time.Millisecond)
	var told []time.Duration
	l, err = acquireFor(t, s, p, path, OnWait(func(h Holder) {
		assert.Equal(t, Ourselves, h.State)
		s.mu.Lock()
		defer s.mu.Unlock()
		told = append(told, s.virtual)
	}))
	require.NoError(t, err)
	require.NoError(t, l.Release())
	const ms = time.Millisecond
	assert.Equal(t, []time.Duration{0, 200 * ms, 400 * ms, 600 * ms, 800 * ms}, told)
	assert.Equal(t, 999*ms, s.virtual)
}

// A context that has ended ends the pause, whatever else has happened by the time that the waiter comes to look.
func TestPauseOfAnEndedContext(t *testing.T) {
	why := errors.New("ended")
	ctx, end := context.WithCancelCause(context.Background())
	wake := make(chan struct{})
	close(wake)
	assert.NoError(t, osSystem{}.pause(ctx, time.Hour, wake))
	assert.NoError(t, osSystem{}.pause(ctx, 0, nil))
	end(why)
	for range 100 {
		assert.ErrorIs(t, osSystem{}.pause(ctx, time.Hour, wake), why)
		assert.ErrorIs(t, osSystem{}.pause(ctx, 0, nil), why)
	}
}
