//go:build unix

package atomicwrite

import (
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func init() {
	// The umask belongs to the whole process.
	children["umask"] = func(args []string) error {
		umask, err := strconv.ParseInt(args[0], 8, 32)
		if err != nil {
			return err
		}
		stated, err := strconv.ParseUint(args[2], 8, 32)
		if err != nil {
			return err
		}
		opts := map[string][]Option{
			"plain": nil, "exact": {ExactMode()}, "keep": {KeepMode()},
			"exact, narrow parents": {ExactMode(), ParentMode(0o700)},
		}
		syscall.Umask(int(umask))
		return WriteFile(args[1], []byte(newContent), fs.FileMode(stated), opts[args[3]]...)
	}
}

func umaskApplies(t *testing.T) {
	for _, c := range []struct {
		umask        string
		there        fs.FileMode // of the old file; 0 is none
		stated       string
		opts         string
		want, parent fs.FileMode
	}{
		{"077", 0, "0644", "exact", 0o644, 0o700},
		{"0277", 0, "0644", "exact", 0o644, 0o500},
		{"077", 0o640, "0666", "exact", 0o666, 0},
		{"077", 0o664, "0600", "keep", 0o664, 0},
		{"0", 0o604, "0666", "keep", 0o604, 0},
		{"027", 0, "0666", "keep", 0o640, 0o750},
		{"0", 0, "0640", "exact, narrow parents", 0o640, 0o700},
	} {
		t.Run(fmt.Sprintf("umask %s, mode %s, %s, over %v", c.umask, c.stated, c.opts, c.there), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "made", "file")
			if c.there != 0 {
				require.NoError(t, os.Mkdir(filepath.Dir(path), 0o755))
				put(t, path, oldContent, c.there)
			}
			if c.parent == 0o500 && os.Getuid() != 0 {
				t.Skip("a directory without owner write is root's to write to")
			}
			runChild(t, "umask", c.umask, path, c.stated, c.opts)
			assert.Equal(t, newContent, contentOf(t, path))
			assert.Equal(t, c.want, modeOf(t, path))
			if c.there == 0 {
				assert.Equal(t, c.parent|fs.ModeDir, modeOf(t, filepath.Dir(path)))
			}
		})
	}
}

// runChild runs it to a good end.
func runChild(t *testing.T, name string, args ...string) {
	t.Helper()
	out, err := child(t, name, args...).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

func irregularTargets(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(t *testing.T, path string)
		kind error
		text string
	}{
		{"directory", func(t *testing.T, path string) { require.NoError(t, os.Mkdir(path, 0o755)) }, ErrIsDirectory, "is a directory"},
		{"FIFO", func(t *testing.T, path string) { require.NoError(t, unix.Mkfifo(path, 0o600)) }, ErrIrregular, "a named pipe"},
		{"socket", listen, ErrIrregular, "a socket"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(shortDir(t), "file")
			c.make(t, path)
			before := modeOf(t, path)
			m := newMachine()
			err := writeFile(m, path, []byte(newContent), 0o600, newOptions(nil))
			require.ErrorIs(t, err, c.kind)
			assert.Contains(t, err.Error(), c.text)
			assert.Equal(t, 0, m.count("createNew"), "nothing is written first")
			assert.Equal(t, before, modeOf(t, path))

			_, err = Create(path, 0o600)
			require.ErrorIs(t, err, c.kind)

			err = WriteFile(path, nil, 0o600, RefuseIrregular(false), IfChanged(), Sync(SyncNone))
			if c.kind == ErrIsDirectory {
				require.ErrorIs(t, err, c.kind, "a directory is refused always")
				assert.Equal(t, before, modeOf(t, path))
			} else {
				require.NoError(t, err)
				assert.True(t, modeOf(t, path).IsRegular())
			}
			assert.Equal(t, []string{"file"}, names(t, filepath.Dir(path)))
		})
	}
	t.Run("device", func(t *testing.T) {
		err := WriteFile(os.DevNull, []byte(newContent), 0o600)
		require.ErrorIs(t, err, ErrIrregular)
		assert.Contains(t, err.Error(), "a device")
	})
}

func listen(t *testing.T, path string) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	require.NoError(t, err)
	l.SetUnlinkOnClose(false)
	t.Cleanup(func() { l.Close() })
}

func openElsewhere(t *testing.T) { t.Skip("only Windows refuses to replace an open file") }
