package atomicwrite

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/sys"
)

func TestWriter(t *testing.T) {
	for _, c := range []struct {
		name string
		use  func(t *testing.T, w *Writer)
		want string
	}{
		{"committed", func(t *testing.T, w *Writer) {
			for _, part := range []string{"one ", "", "two"} {
				n, err := w.Write([]byte(part))
				require.NoError(t, err)
				assert.Equal(t, len(part), n)
			}
			require.NoError(t, w.Commit())
			require.NoError(t, w.Close())
		}, "one two"},
		{"committed empty", func(t *testing.T, w *Writer) {
			require.NoError(t, w.Commit())
		}, ""},
		{"closed", func(t *testing.T, w *Writer) {
			_, err := w.Write([]byte("half"))
			require.NoError(t, err)
			require.NoError(t, w.Close())
			require.NoError(t, w.Close())
		}, oldContent},
		{"committed after Close", func(t *testing.T, w *Writer) {
			require.NoError(t, w.Close())
			require.ErrorIs(t, w.Commit(), fs.ErrClosed)
		}, oldContent},
		{"committed twice", func(t *testing.T, w *Writer) {
			_, err := w.Write([]byte("once"))
			require.NoError(t, err)
			require.NoError(t, w.Commit())
			require.ErrorIs(t, w.Commit(), fs.ErrClosed)
		}, "once"},
		{"written after Commit", func(t *testing.T, w *Writer) {
			require.NoError(t, w.Commit())
			n, err := w.Write([]byte("late"))
			require.ErrorIs(t, err, fs.ErrClosed)
			assert.Zero(t, n)
		}, ""},
		{"written after Close", func(t *testing.T, w *Writer) {
			require.NoError(t, w.Close())
			_, err := w.Write([]byte("late"))
			require.ErrorIs(t, err, fs.ErrClosed)
		}, oldContent},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "file")
			put(t, path, oldContent, 0o600)
			open := descriptors(t)
			w, err := Create(path, 0o600)
			require.NoError(t, err)
			assert.Equal(t, oldContent, contentOf(t, path))
			c.use(t, w)
			assert.Equal(t, c.want, contentOf(t, path))
			assert.Equal(t, []string{"file"}, names(t, filepath.Dir(path)))
			assert.Equal(t, open, descriptors(t))
		})
	}
}

func TestWriterFailures(t *testing.T) {
	refuse := func(ops ...string) *machine {
		m := newMachine()
		m.fail = func(op string, _ int) error {
			for _, refused := range ops {
				if op == refused {
					return sys.NoSpace
				}
			}
			return nil
		}
		return m
	}
	start := func(t *testing.T, m *machine) (*Writer, string) {
		path := filepath.Join(t.TempDir(), "file")
		put(t, path, oldContent, 0o600)
		w, err := create(m, path, 0o600, newOptions(nil))
		require.NoError(t, err)
		return w, path
	}
	t.Run("a failed write is not committed", func(t *testing.T) {
		w, path := start(t, refuse("write"))
		n, first := w.Write([]byte(newContent))
		require.ErrorIs(t, first, ErrNoSpace)
		assert.Zero(t, n)
		assert.Empty(t, temps(t, filepath.Dir(path)), "abandoned at once")
		assert.Equal(t, first, w.Commit())
		_, again := w.Write(nil)
		assert.Equal(t, first, again)
		require.NoError(t, w.Close())
		assert.Equal(t, oldContent, contentOf(t, path))
	})
	t.Run("a failed commit abandons", func(t *testing.T) {
		w, path := start(t, refuse("sync"))
		require.ErrorIs(t, w.Commit(), ErrNoSpace)
		assert.Equal(t, []string{"file"}, names(t, filepath.Dir(path)))
		require.ErrorIs(t, w.Commit(), fs.ErrClosed)
		require.NoError(t, w.Close())
	})
	t.Run("a temp that Close cannot remove is named", func(t *testing.T) {
		w, path := start(t, refuse("remove"))
		var e *Error
		require.ErrorAs(t, w.Close(), &e)
		assert.Equal(t, temps(t, filepath.Dir(path)), []string{e.Temp})
		require.ErrorIs(t, e, ErrNoSpace)
		assert.Contains(t, e.Error(), "cannot remove the temporary file: no space left on device")
		require.NoError(t, w.Close())
	})
	t.Run("nothing is begun where nothing can be created", func(t *testing.T) {
		open := descriptors(t)
		w, err := create(refuse("createNew"), filepath.Join(t.TempDir(), "file"), 0o600, newOptions(nil))
		require.ErrorIs(t, err, ErrNoSpace)
		assert.Nil(t, w)
		assert.Equal(t, open, descriptors(t))
	})
}

func TestWritesThatWriteNothingEnd(t *testing.T) {
	m := newMachine()
	m.stuck = true
	path := filepath.Join(t.TempDir(), "file")
	require.ErrorIs(t, writeFile(m, path, []byte(newContent), 0o600, newOptions(nil)), sys.IO)
	assert.Equal(t, 1, m.count("write"))
	assert.Empty(t, names(t, filepath.Dir(path)))
}

// TestWriterStaysInItsDirectory moves the working directory and the directory itself while a writer is open.
func TestWriterStaysInItsDirectory(t *testing.T) {
	base := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(base, "sub"), 0o755))
	t.Chdir(filepath.Join(base, "sub"))
	w, err := Create("file", 0o600)
	require.NoError(t, err)
	t.Chdir(base)
	_, err = w.Write([]byte(newContent))
	require.NoError(t, err)
	require.NoError(t, w.Commit())
	assert.Equal(t, newContent, contentOf(t, filepath.Join(base, "sub", "file")))
	assert.Equal(t, []string{"sub"}, names(t, base))
	assert.Equal(t, []string{"file"}, names(t, filepath.Join(base, "sub")))
}

// TestTempIsLocked: others can tell the temp of a live writer from that of a killed one.
func TestTempIsLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	w, err := Create(path, 0o600)
	require.NoError(t, err)
	defer w.Close()
	dir, err := sys.OpenDir(filepath.Dir(path))
	require.NoError(t, err)
	defer dir.Close()
	f, err := dir.Open(filepath.Base(temps(t, filepath.Dir(path))[0]))
	require.NoError(t, err)
	defer f.Close()
	err = f.TryLock(false)
	if sys.IsKind(err, sys.Unsupported) {
		t.Skip("no kernel locks here")
	}
	assert.True(t, sys.IsKind(err, sys.WouldBlock), "%v", err)
}
