package compat

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/filelock"
)

func target(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "settings.json")
}

func TestWriteFileAtomic(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a", "b", "settings.json")
	for _, content := range []string{"old", "new", ""} {
		require.NoError(t, WriteFileAtomic(path, []byte(content), WriteFileAtomicOptions{Mode: 0o600}))
		assert.Equal(t, content, contentOf(t, path))
		assert.Equal(t, []string{"settings.json"}, names(t, filepath.Dir(path)))
	}
	require.Error(t, write(filepath.Join(dir, "a")))
	assert.Equal(t, []string{"a"}, names(t, dir))
	assert.Equal(t, []string{"b"}, names(t, filepath.Join(dir, "a")))
}

func TestWriteFileAtomicReplacesTheLink(t *testing.T) {
	dir := t.TempDir()
	path, referent := filepath.Join(dir, "link"), filepath.Join(dir, "referent")
	put(t, referent, "old")
	if err := os.Symlink("referent", path); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	require.NoError(t, write(path))
	assert.Equal(t, "old", contentOf(t, referent))
	assert.Equal(t, "new", contentOf(t, path))
	info, err := os.Lstat(path)
	require.NoError(t, err)
	assert.True(t, info.Mode().IsRegular())
}

func TestWait(t *testing.T) {
	for _, c := range []struct {
		name string
		ms   *int
		want time.Duration
	}{
		{"not given", nil, 2000 * time.Millisecond},
		{"one try", new(0), 0},
		{"some", new(50), 50 * time.Millisecond},
		{"less than nothing", new(-1), 0},
		{"less than a Duration has", new(math.MinInt/1_000_000 - 1), 0},
		{"far less", new(math.MinInt), 0},
		{"a day", new(86_400_000), 24 * time.Hour},
		{"without end", new(math.MaxInt), filelock.Forever},
	} {
		t.Run(c.name, func(t *testing.T) {
			if math.MaxInt == math.MaxInt32 && c.want == filelock.Forever {
				t.Skip("an int is never that large here")
			}
			assert.Equal(t, c.want, FileLockOptions{c.ms}.wait())
		})
	}
}

func TestWithFileLock(t *testing.T) {
	own := errors.New("the operation's own")
	for _, c := range []struct {
		name  string
		value string
		err   error
	}{
		{"value", "done", nil},
		{"error", "", own},
		{"both", "half", own},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := target(t)
			value, err := WithFileLock(t.Context(), path, func(ctx context.Context) (string, error) {
				assert.Equal(t, []string{"settings.json.lock"}, names(t, filepath.Dir(path)))
				assert.Equal(t, fmt.Sprintf("%d\n", os.Getpid()), contentOf(t, path+".lock"))
				assert.NoError(t, ctx.Err())
				return c.value, c.err
			}, FileLockOptions{})
			assert.Equal(t, c.value, value)
			assert.Equal(t, c.err, err)
			assert.Empty(t, names(t, filepath.Dir(path)))
		})
	}
}

func TestWithFileLockPanics(t *testing.T) {
	path := target(t)
	assert.PanicsWithValue(t, "broken", func() {
		_, _ = WithFileLock(t.Context(), path, func(context.Context) (int, error) { panic("broken") }, FileLockOptions{})
	})
	assert.Empty(t, names(t, filepath.Dir(path)))
}

func TestWithFileLockCancelled(t *testing.T) {
	path := target(t)
	l, err := filelock.Acquire(t.Context(), path)
	require.NoError(t, err)
	defer l.Release()
	why := fmt.Errorf("the user left: %w", syscall.ENOENT)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	value, err := WithFileLock(ctx, path, notRun(t), FileLockOptions{})
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, why)
	assert.NotErrorIs(t, err, filelock.ErrHeld)
	assert.Zero(t, value)
	assert.Empty(t, Code(err))
}

func notRun(t *testing.T) func(context.Context) (int, error) {
	return func(context.Context) (int, error) {
		assert.Fail(t, "the operation ran")
		return 1, nil
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	path := target(t)
	l, err := filelock.Acquire(t.Context(), path)
	require.NoError(t, err)
	defer l.Release()

	value, err := WithFileLock(t.Context(), path, notRun(t), FileLockOptions{WaitMs: new(0)})
	require.EqualError(t, err, "atomic-write: timed out waiting for the writer lock at "+path+".lock")
	require.ErrorIs(t, err, filelock.ErrHeld)
	require.ErrorIs(t, err, filelock.ErrUnavailable)
	var held *filelock.HeldError
	require.ErrorAs(t, err, &held)
	assert.Equal(t, os.Getpid(), held.Holder.PID)
	assert.Zero(t, held.Waited, "it was one try")
	assert.Zero(t, value)
	assert.Empty(t, Code(err))

	if runtime.GOOS == "windows" {
		return // Node runs outside
	}
	a := startNode(t).call("lock", path)
	assert.Equal(t, a.Message, err.Error())
	assert.Equal(t, a.Code, Code(err))
}

// Another lock that the operation waited for in vain is no timeout of this one.
func TestTimeoutOfTheOperation(t *testing.T) {
	path, other := target(t), target(t)
	l, err := filelock.Acquire(t.Context(), other)
	require.NoError(t, err)
	defer l.Release()
	var inner error
	_, err = WithFileLock(t.Context(), path, func(ctx context.Context) (int, error) {
		_, inner = filelock.TryAcquire(ctx, other)
		return 0, inner
	}, FileLockOptions{})
	require.Error(t, inner)
	assert.Equal(t, inner, err)
}
