package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The end of a context is what it is, whatever ended it: a group of goroutines ends its context with the error of the first
// that failed, which may have failed to get some other lock.
func TestCancelledByAnotherLocksError(t *testing.T) {
	plain := errors.New("plain")
	other := &Error{"open the file", "/other", syscall.EACCES}
	for name, cause := range map[string]error{
		"plain":         plain,
		"a step":        other,
		"unsafe":        &UnsafePathError{Path: "/other", Found: "it is a FIFO"},
		"misconfigured": misconfigured("make the lock file", "/other", syscall.ENOSPC),
		"held":          &HeldError{Path: "/other", Holder: Holder{PID: 1, State: Unproven}},
		"in a group":    fmt.Errorf("second of three: %w", errors.Join(&HeldError{Path: "/other"}, other)),
		"unsettled":     unsettled{plain},
	} {
		path, place := filepath.Join(t.TempDir(), "f"), newPlace(t)
		opts := []Option{Wait(Forever)}
		for kind, locker := range map[string]func(...Option) Locker{
			"record": func(o ...Option) Locker { return Record(path, append(o, opts...)...) },
			"kernel": func(o ...Option) Locker { return Kernel(path, append(o, opts...)...) },
			"named":  func(o ...Option) Locker { return namedIn(place, AllUsers, name, append(o, opts...)...) },
		} {
			holder, err := locker().Acquire(context.Background())
			require.NoError(t, err)
			ctx, cancel := context.WithCancelCause(context.Background())
			_, err = locker(OnWait(func(Holder) { cancel(cause) })).Acquire(ctx)
			assert.ErrorIs(t, err, context.Canceled, "%s %s", kind, name)
			assert.ErrorIs(t, err, cause, "%s %s", kind, name)
			assert.ErrorContains(t, err, cause.Error(), "%s %s", kind, name)
			for _, unavailable := range []error{ErrUnavailable, ErrHeld, ErrMisconfigured} {
				assert.NotErrorIs(t, err, unavailable, "%s %s", kind, name)
			}
			assert.False(t, errors.As(err, new(*HeldError)), "%s %s", kind, name)
			assert.Equal(t, errors.As(cause, new(*Error)), errors.As(err, new(*Error)), "%s %s", kind, name)
			require.NoError(t, holder.Release())
		}
	}
}

// Who waits for its own process is told so, as is who gives up.
func TestCancelledWaitForOurselves(t *testing.T) {
	path := target(t)
	for name, kind := range map[string]func(...Option) Locker{
		"record": func(opts ...Option) Locker { return Record(path, opts...) },
		"kernel": func(opts ...Option) Locker { return Kernel(path, opts...) },
	} {
		holder, err := kind().TryAcquire(context.Background())
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(context.Background())
		_, err = kind(Wait(Forever), OnWait(func(Holder) { cancel() })).Acquire(ctx)
		assert.ErrorContains(t, err, fmt.Sprintf("stopped waiting for this process (PID %d)", os.Getpid()), name)
		require.NoError(t, holder.Release())
	}
}
