package filelock

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/sys"
)

// eventually is how long a condition may take that holds after the next heartbeat, on a machine that is busy with something
// else. Many a mutant is caught by its end.
var eventually = func() time.Duration {
	if _, mutated := os.LookupEnv(mutantEnv); mutated {
		return 10 * time.Second
	}
	return time.Minute
}()

func TestLockDeletedWhileHeld(t *testing.T) {
	path := target(t)
	own := errors.New("own")
	err := With(context.Background(), path, func(ctx context.Context, l *Lock) error {
		deleteHeld(t, path+lockSuffix)
		second, err := acquireFor(t, osSystem{}, newProcess(), path, Wait(0))
		require.NoError(t, err)
		select {
		case <-ctx.Done():
		case <-time.After(eventually):
			t.Fatal("fn's context did not end")
		}
		assert.ErrorIs(t, context.Cause(ctx), ErrLost)
		<-l.Done()
		assert.ErrorIs(t, l.Err(), ErrLost)
		assert.ErrorIs(t, l.Check(), ErrLost)
		assert.ErrorIs(t, l.Release(), ErrLost)
		assert.NoError(t, l.Release(), "only the first call acts")
		assert.NoError(t, second.Check(), "the second holder's lock was touched")
		assert.ErrorIs(t, l.Err(), ErrLost)
		require.NoError(t, second.Release())
		return own
	})
	assert.Equal(t, own, err, "fn released the lost lock itself")
	assert.Empty(t, entries(t, path))
}

func TestWithReturnsTheLoss(t *testing.T) {
	path := target(t)
	own := errors.New("own")
	for _, result := range []error{nil, own} {
		err := With(context.Background(), path, func(context.Context, *Lock) error {
			deleteHeld(t, path+lockSuffix)
			write(t, path+lockSuffix, []byte("4242\n"))
			return result
		})
		var lost *LostError
		require.ErrorAs(t, err, &lost)
		assert.Contains(t, lost.Error(), "PID 4242 has it now")
		if result != nil {
			assert.ErrorIs(t, err, own)
		}
		content, err := os.ReadFile(path + lockSuffix)
		require.NoError(t, err)
		assert.Equal(t, "4242\n", string(content))
		require.NoError(t, os.Remove(path+lockSuffix))
	}
}

// A function that returns why its context ended has said it: the loss is one sentence, not two.
func TestLossIsSaidOnce(t *testing.T) {
	path := target(t)
	err := With(context.Background(), path, func(ctx context.Context, _ *Lock) error {
		deleteHeld(t, path+lockSuffix)
		<-ctx.Done()
		return fmt.Errorf("stopped: %w", context.Cause(ctx))
	})
	assert.ErrorIs(t, err, ErrLost)
	assert.Equal(t, 1, strings.Count(err.Error(), "was taken away while held"), err)
}

// After a loss the next goroutine of this process does not wait for the loser.
func TestLossLetsTheQueueGoOn(t *testing.T) {
	path := target(t)
	l := mustAcquire(t, path)
	deleteHeld(t, path+lockSuffix)
	next, err := Acquire(context.Background(), path, Wait(eventually))
	require.NoError(t, err)
	assert.ErrorIs(t, l.Err(), ErrLost)
	assert.NoError(t, next.Release())
}

// An error that does not say "gone" is no loss.
func TestUnansweredCheckIsNoLoss(t *testing.T) {
	path := target(t)
	failing := false
	s := newStepped(func(st step) error {
		if failing && st.op == "lstat" {
			return sys.IO
		}
		return nil
	})
	l, err := acquireFor(t, s, newProcess(), path)
	require.NoError(t, err)
	failing = true
	assert.NoError(t, l.Check())
	l.beat()
	assert.NoError(t, l.Err())
	failing = false
	require.NoError(t, l.Release())
	assert.Empty(t, entries(t, path))
}

func TestReleaseFromAnywhere(t *testing.T) {
	path := target(t)
	for range 50 {
		removals := 0
		s := newStepped(func(st step) error {
			if st.op == "remove" && !st.after {
				removals++
			}
			return nil
		})
		l, err := acquireFor(t, s, newProcess(), path)
		require.NoError(t, err)
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() { assert.NoError(t, l.Release()) })
		}
		all.Wait()
		assert.NoError(t, l.Release())
		assert.Equal(t, 1, removals)
	}
	assert.Empty(t, entries(t, path))
}

// A lock that could not be removed is let go of: the error says why, and the next contender takes it over.
func TestReleaseThatCannotRemove(t *testing.T) {
	path := target(t)
	s := newStepped(refuse(sys.AccessDenied, "remove"))
	l, err := acquireFor(t, s, newProcess(), path)
	require.NoError(t, err)
	err = l.Release()
	var failed *Error
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, path+lockSuffix, failed.Path)
	assert.Equal(t, sys.AccessDenied, sys.KindOf(err))
	assert.Equal(t, []string{"settings.json.lock"}, entries(t, path))
	if runtime.GOOS != "linux" {
		return
	}
	next, err := try(t, path)
	require.NoError(t, err, "the guard is free")
	require.NoError(t, next.Release())
}

// The name goes before the guard: dropped first, a contender could take the lock over and have its own removed.
func TestReleaseOrder(t *testing.T) {
	path := target(t)
	var steps []string
	watching := false
	s := newStepped(func(st step) error {
		if watching && !st.after {
			steps = append(steps, st.op)
		}
		return nil
	})
	l, err := acquireFor(t, s, newProcess(), path)
	require.NoError(t, err)
	watching = true
	require.NoError(t, l.Release())
	assert.Equal(t, []string{"lstat", "remove", "close"}, steps)
}

func TestReleaseDuringTheLossCheck(t *testing.T) {
	path := target(t)
	p := newProcess()
	for range 10_000 {
		l, err := acquire(context.Background(), osSystem{}, p, path, newOptions(nil))
		require.NoError(t, err)
		var beat sync.WaitGroup
		beat.Go(l.beat)
		require.NoError(t, l.Release())
		beat.Wait()
		require.ErrorIs(t, l.Err(), ErrReleased)
	}
}

// The times of a held lock stay young, for lockers that judge by age; 1 s is the smallest stale time in use.
func TestHeartbeat(t *testing.T) {
	path := target(t)
	l := mustAcquire(t, path)
	old := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(path+lockSuffix, old, old))
	require.Eventually(t, func() bool {
		info, err := os.Stat(path + lockSuffix)
		return err == nil && time.Since(info.ModTime()) < time.Second
	}, eventually, 10*time.Millisecond)
	require.NoError(t, l.Release())
}

// A lock whose *Lock was dropped is still held: a collected descriptor would drop the guard of a live holder.
func TestDroppedLockIsStillHeld(t *testing.T) {
	path := target(t)
	func() {
		_, err := Acquire(context.Background(), path)
		require.NoError(t, err)
	}()
	for range 3 {
		runtime.GC()
	}
	_, err := try(t, path)
	require.ErrorIs(t, err, ErrHeld)
	var l *Lock
	thisProcess.mu.Lock()
	for _, held := range thisProcess.held {
		if held.path == path+lockSuffix {
			l = held
		}
	}
	thisProcess.mu.Unlock()
	require.NotNil(t, l)
	require.NoError(t, l.Release())
}

func TestDirectoryMovedWhileHeld(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a lock has its directory's absolute path there")
	}
	top := t.TempDir()
	before, after := filepath.Join(top, "before"), filepath.Join(top, "after")
	require.NoError(t, os.Mkdir(before, 0o700))
	t.Chdir(before)
	l, err := Acquire(context.Background(), "settings.json")
	require.NoError(t, err)
	require.NoError(t, os.Chdir(top))
	require.NoError(t, l.Check(), "another working directory")
	require.NoError(t, os.Rename(before, after))
	require.NoError(t, l.Check(), "another name of the directory")
	require.NoError(t, l.Release())
	list, err := os.ReadDir(after)
	require.NoError(t, err)
	assert.Empty(t, list)
}

func TestDirectoryChangedWhileHeld(t *testing.T) {
	top := t.TempDir()
	t.Chdir(top)
	l, err := Acquire(context.Background(), "settings.json")
	require.NoError(t, err)
	require.NoError(t, os.Mkdir("elsewhere", 0o700))
	require.NoError(t, os.Chdir("elsewhere"))
	assert.NoError(t, l.Check())
	require.NoError(t, l.Release())
	require.NoError(t, os.Chdir(top))
	list, err := os.ReadDir(top)
	require.NoError(t, err)
	assert.Len(t, list, 1)
}

// A child that was started while the lock was held does not keep the guard of a holder that was killed.
func TestChildDoesNotKeepTheGuard(t *testing.T) {
	path := target(t)
	holder := start(t, command("parent", path))
	require.Contains(t, holder.line(), "idle ")
	holder.kill()
	next, err := try(t, path)
	require.NoError(t, err)
	if taken, _ := next.Takeover(); runtime.GOOS == "linux" {
		assert.Equal(t, string(guardFree), taken.Proof)
	}
	require.NoError(t, next.Release())
	require.NoError(t, holder.in.Close())
	rest, err := io.ReadAll(holder.out)
	require.NoError(t, err)
	assert.Equal(t, "idle ended\n", strings.ReplaceAll(string(rest), "\r", ""), "the holder's child lived on")
}

// childParent FILE: holds, and starts a child that idles on the same input.
func childParent(args []string) error {
	l, err := Acquire(context.Background(), args[0])
	if err != nil {
		return err
	}
	cmd := command("idle")
	cmd.Stdin, cmd.Stdout = os.Stdin, os.Stdout
	if err := cmd.Run(); err != nil {
		return err
	}
	return l.Release()
}
