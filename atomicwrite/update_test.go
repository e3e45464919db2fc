package atomicwrite

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/filelock"
)

// seen is what an update's function was given.
type seen struct {
	old    []byte
	exists bool
	calls  int
}

func (s *seen) returns(next string, err error) func([]byte, bool) ([]byte, error) {
	return func(old []byte, exists bool) ([]byte, error) {
		s.old, s.exists = old, exists
		s.calls++
		return []byte(next), err
	}
}

func TestUpdateOldContent(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege on Windows")
	}
	for _, c := range []struct {
		name    string
		prepare func(t *testing.T, dir string)
		opts    []Option
		old     []byte
		exists  bool
		written string
		want    error
	}{
		{name: "missing", prepare: func(*testing.T, string) {}},
		{name: "empty", prepare: func(t *testing.T, dir string) { put(t, dir+"/file", "", 0o600) }, old: []byte{}, exists: true},
		{name: "file", prepare: func(t *testing.T, dir string) { put(t, dir+"/file", oldContent, 0o600) }, old: []byte(oldContent), exists: true},
		{
			name: "link, replaced", old: []byte(oldContent), exists: true,
			prepare: func(t *testing.T, dir string) {
				put(t, dir+"/referent", oldContent, 0o600)
				link(t, "referent", dir+"/file")
			},
		},
		{
			name: "link, followed", old: []byte(oldContent), exists: true, written: "referent",
			prepare: func(t *testing.T, dir string) {
				put(t, dir+"/referent", oldContent, 0o600)
				link(t, "referent", dir+"/file")
			},
			opts: []Option{FollowSymlink()},
		},
		{name: "dangling link", prepare: func(t *testing.T, dir string) { link(t, "none", dir+"/file") }},
		{name: "dangling into no directory", prepare: func(t *testing.T, dir string) { link(t, "no/none", dir+"/file") }},
		{name: "loop", prepare: func(t *testing.T, dir string) { link(t, "file", dir+"/file") }, want: ErrLoop},
		{name: "directory", prepare: func(t *testing.T, dir string) { require.NoError(t, os.Mkdir(dir+"/file", 0o755)) }, want: ErrIsDirectory},
		{name: "link to a device", prepare: func(t *testing.T, dir string) { link(t, os.DevNull, dir+"/file") }, want: ErrIrregular},
		{
			name:    "link to a device, replaced",
			prepare: func(t *testing.T, dir string) { link(t, os.DevNull, dir+"/file") },
			opts:    []Option{RefuseIrregular(false)},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			c.prepare(t, dir)
			open := descriptors(t)
			var s seen
			err := Update(t.Context(), filepath.Join(dir, "file"), 0o600, s.returns(newContent, nil), c.opts...)
			assert.Equal(t, open, descriptors(t))
			assert.NoFileExists(t, filepath.Join(dir, "file.lock"))
			if c.want != nil {
				require.ErrorIs(t, err, c.want)
				assert.Zero(t, s.calls)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, seen{c.old, c.exists, 1}, s)
			written := filepath.Join(dir, cmp.Or(c.written, "file"))
			assert.True(t, modeOf(t, written).IsRegular())
			assert.Equal(t, newContent, contentOf(t, written))
		})
	}
}

func TestUpdateLeavesTheFile(t *testing.T) {
	own := errors.New("fn's own")
	for _, c := range []struct {
		name string
		err  error
		want error
	}{
		{"unchanged", ErrUnchanged, nil},
		{"unchanged, wrapped", errors.Join(ErrUnchanged), nil},
		{"an error of its own", own, own},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "file")
			put(t, path, oldContent, 0o600)
			before := identity(t, path)
			var s seen
			err := Update(t.Context(), path, 0o600, s.returns(newContent, c.err))
			assert.Equal(t, c.want, err)
			assert.Equal(t, before, identity(t, path))
			assert.Equal(t, []string{"file"}, names(t, filepath.Dir(path)))
		})
	}
}

// TestUpdateLocksThePathAsGiven: the lock lies beside the link, where everybody looks for it.
func TestUpdateLocksThePathAsGiven(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege on Windows")
	}
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "there"), 0o755))
	link(t, "there/referent", filepath.Join(dir, "file"))
	require.NoError(t, Update(t.Context(), filepath.Join(dir, "file"), 0o600, func([]byte, bool) ([]byte, error) {
		assert.Equal(t, []string{"file", "file.lock", "there"}, names(t, dir))
		assert.Empty(t, names(t, filepath.Join(dir, "there")))
		return []byte(newContent), nil
	}, FollowSymlink()))
	assert.Equal(t, []string{"file", "there"}, names(t, dir))
	assert.Equal(t, []string{"referent"}, names(t, filepath.Join(dir, "there")))
}

func TestUpdateWithoutTheLock(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	put(t, path, oldContent, 0o600)

	t.Run("held by another", func(t *testing.T) {
		l, err := filelock.Acquire(t.Context(), path)
		require.NoError(t, err)
		defer func() { require.NoError(t, l.Release()) }()
		var s seen
		err = Update(t.Context(), path, 0o600, s.returns(newContent, nil), Locking(filelock.Wait(0)))
		require.ErrorIs(t, err, filelock.ErrHeld)
		assert.Zero(t, s.calls)
	})
	t.Run("lost meanwhile", func(t *testing.T) {
		err := Update(t.Context(), path, 0o600, func([]byte, bool) ([]byte, error) {
			return []byte(newContent), os.Rename(path+".lock", path+".stolen")
		})
		require.ErrorIs(t, err, filelock.ErrLost)
		assert.NotContains(t, err.Error(), "\n", "one line")
		require.NoError(t, os.Remove(path+".stolen"))
	})
	lose := func() error { return os.Rename(path+".lock", path+".stolen") }
	t.Run("lost meanwhile, and another of fn's own", func(t *testing.T) {
		other := &Error{Op: "do fn's own", Path: "other", Err: filelock.ErrLost}
		err := Update(t.Context(), path, 0o600, func([]byte, bool) ([]byte, error) {
			require.NoError(t, lose())
			return nil, other
		})
		require.ErrorIs(t, err, other)
		assert.Contains(t, err.Error(), path+".lock was taken away")
		require.NoError(t, os.Remove(path+".stolen"))
	})
	t.Run("lost and context ended meanwhile", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		err := Update(ctx, path, 0o600, func([]byte, bool) ([]byte, error) {
			cancel()
			return []byte(newContent), lose()
		})
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, filelock.ErrLost)
		require.NoError(t, os.Remove(path+".stolen"))
	})
	t.Run("no directory for it", func(t *testing.T) {
		err := Update(t.Context(), filepath.Join(path, "below a file"), 0o600, nil)
		require.Error(t, err)
		assert.IsType(t, &Error{}, err)
	})
	t.Run("context ended meanwhile", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		stop := errors.New("stopped")
		err := Update(ctx, path, 0o600, func([]byte, bool) ([]byte, error) {
			cancel(stop)
			return []byte(newContent), nil
		})
		require.ErrorIs(t, err, stop)
		var e *Error
		require.ErrorAs(t, err, &e)
		assert.False(t, e.Replaced)
	})
	t.Run("context ended before", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		var s seen
		require.ErrorIs(t, Update(ctx, path, 0o600, s.returns(newContent, nil)), context.Canceled)
		assert.Zero(t, s.calls)
	})
	assert.Equal(t, oldContent, contentOf(t, path))
	assert.Equal(t, []string{"file"}, names(t, dir))
}

// TestUpdateLooksAtTheLockLast: directly before each try to rename, nothing is done after it.
func TestUpdateLooksAtTheLockLast(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	put(t, path, oldContent, 0o600)
	m := newMachine()
	m.windows = true
	m.fail = func(op string, _ int) error {
		if op == "replace" && m.count(op) == 1 {
			return fs.ErrPermission // not of the system's: ends it
		}
		return nil
	}
	var looked []int
	r := replacement{sys: m, opt: newOptions(nil), path: path, stated: 0o600}
	r.check = func() error {
		looked = append(looked, len(m.steps))
		return nil
	}
	var s seen
	require.ErrorIs(t, update(r, s.returns(newContent, nil)), fs.ErrPermission)
	require.Len(t, looked, 1)
	assert.Equal(t, "replace", m.steps[looked[0]])

	lost := errors.New("lost")
	m = newMachine()
	r = replacement{sys: m, opt: newOptions(nil), path: path, stated: 0o600, check: func() error { return lost }}
	require.ErrorIs(t, update(r, s.returns(newContent, nil)), lost)
	assert.Zero(t, m.count("replace"))
	assert.Equal(t, oldContent, contentOf(t, path))
	assert.Equal(t, []string{"file"}, names(t, filepath.Dir(path)))
}

// TestUpdateOfMovedDirectory: who waited for the lock in a directory that was moved meanwhile does not have that of the file
// that has come into its place.
func TestUpdateOfMovedDirectory(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open directory is not moved on Windows")
	}
	for name, replaced := range map[string]bool{"replaced": true, "missing": false} {
		t.Run(name, func(t *testing.T) {
			top := t.TempDir()
			dir, moved := filepath.Join(top, "dir"), filepath.Join(top, "moved")
			path := filepath.Join(dir, "file")
			require.NoError(t, os.Mkdir(dir, 0o755))
			put(t, path, oldContent, 0o600)
			holder, err := filelock.Acquire(t.Context(), path)
			require.NoError(t, err)
			move := sync.OnceFunc(func() {
				assert.NoError(t, os.Rename(dir, moved))
				if replaced {
					assert.NoError(t, os.Mkdir(dir, 0o755))
					put(t, path, "theirs", 0o600)
				}
				go holder.Release()
			})
			var s seen
			err = Update(t.Context(), path, 0o600, s.returns(newContent, nil),
				Locking(filelock.Wait(filelock.Forever), filelock.OnWait(func(filelock.Holder) { move() })))
			var failed *Error
			require.ErrorAs(t, err, &failed)
			assert.False(t, failed.Replaced)
			assert.Zero(t, s.calls)
			assert.Equal(t, oldContent, contentOf(t, filepath.Join(moved, "file")))
			assert.Equal(t, []string{"file"}, names(t, moved))
			if replaced {
				require.ErrorIs(t, err, errMoved)
				assert.Equal(t, "theirs", contentOf(t, path))
				assert.Equal(t, []string{"file"}, names(t, dir))
			} else {
				require.ErrorIs(t, err, fs.ErrNotExist)
				assert.NoDirExists(t, dir)
			}
		})
	}
}

func TestUpdateMakesParents(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b", "file")
	var s seen
	require.NoError(t, Update(t.Context(), path, 0o600, s.returns(newContent, nil)))
	assert.Equal(t, seen{nil, false, 1}, s)
	assert.Equal(t, newContent, contentOf(t, path))
}
