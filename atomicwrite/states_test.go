package atomicwrite

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/sys"
)

// TestStates stops in each state of the protocol, looks at the disk, and fails the operation that leads out of it.
func TestStates(t *testing.T) {
	type disk struct{ file, temp string }
	const none = "none"
	for _, c := range []struct {
		state    string
		next     string // the operation that leads out of the state
		nth      int    // of its kind
		during   disk   // before that operation
		after    disk   // when the call has returned
		replaced bool
	}{
		{"named", "openDir", 1, disk{oldContent, none}, disk{oldContent, none}, false},
		{"found", "createNew", 1, disk{oldContent, none}, disk{oldContent, none}, false},
		{"born", "write", 1, disk{oldContent, ""}, disk{oldContent, none}, false},
		{"born, and partly written", "write", 2, disk{oldContent, newContent[:15]}, disk{oldContent, none}, false},
		{"written, mode not set", "chmod", 1, disk{oldContent, newContent}, disk{oldContent, none}, false},
		{"written, not synced", "sync", 1, disk{oldContent, newContent}, disk{oldContent, none}, false},
		{"written, not closed", "close", 1, disk{oldContent, newContent}, disk{oldContent, none}, false},
		{"complete", "replace", 1, disk{oldContent, newContent}, disk{oldContent, none}, false},
		{"visible", "syncDir", 1, disk{newContent, none}, disk{newContent, none}, true},
		{"durable", "close", 2, disk{newContent, none}, disk{newContent, none}, false},
	} {
		t.Run(c.state, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "file")
			put(t, path, oldContent, 0o600)
			look := func() (d disk) {
				d = disk{contentOf(t, path), none}
				if found := temps(t, dir); len(found) == 1 {
					data, err := ReadFile(found[0]) // the writer has it open
					require.NoError(t, err)
					d.temp = string(data)
				}
				return d
			}
			stopped := false
			m := newMachine()
			m.fail = func(op string, _ int) error {
				if op != c.next || m.count(op) != c.nth {
					return nil
				}
				stopped = true
				assert.Equal(t, c.during, look())
				return injected
			}
			err := writeFile(m, path, []byte(newContent), 0o600, newOptions([]Option{ExactMode()}))
			assert.True(t, stopped)
			assert.Equal(t, c.after, look())
			if c.state == "durable" { // nothing is left to fail
				require.NoError(t, err)
				return
			}
			var e *Error
			require.ErrorAs(t, err, &e)
			assert.Equal(t, c.replaced, e.Replaced)
		})
	}
	t.Run("abandoned, by somebody who removed both files", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "file")
		put(t, path, oldContent, 0o600)
		m := newMachine()
		m.fail = func(op string, _ int) error {
			if op != "replace" {
				return nil
			}
			for _, gone := range append(temps(t, filepath.Dir(path)), path) {
				require.NoError(t, os.Remove(gone))
			}
			return sys.NotExist
		}
		var e *Error
		require.ErrorAs(t, writeFile(m, path, []byte(newContent), 0o600, newOptions(nil)), &e)
		assert.Equal(t, Error{Op: opRename, Path: path, Err: sys.NotExist}, *e)
	})
	t.Run("abandoned", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "file")
		put(t, path, oldContent, 0o600)
		m := newMachine()
		m.fail = func(op string, _ int) error {
			if op == "replace" || op == "remove" {
				return injected
			}
			return nil
		}
		var e *Error
		require.True(t, errors.As(writeFile(m, path, []byte(newContent), 0o600, newOptions(nil)), &e))
		assert.Equal(t, []string{e.Temp}, temps(t, filepath.Dir(path)))
		assert.Equal(t, newContent, contentOf(t, e.Temp))
		assert.Equal(t, oldContent, contentOf(t, path))
	})
}

func TestSyncPolicies(t *testing.T) {
	for _, c := range []struct {
		name                 string
		opts                 []Option
		files, dirs, parents int
	}{
		{"by default", nil, 1, 1, 3},
		{"all", []Option{Sync(SyncAll)}, 1, 1, 3},
		{"file", []Option{Sync(SyncFile)}, 1, 0, 0},
		{"none", []Option{Sync(SyncNone)}, 0, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			m := newMachine()
			require.NoError(t, writeFile(m, filepath.Join(dir, "file"), nil, 0o600, newOptions(c.opts)))
			assert.Equal(t, c.files, m.count("sync"))
			assert.Equal(t, c.dirs, m.count("syncDir"))

			m = newMachine()
			require.NoError(t, writeFile(m, filepath.Join(dir, "a", "b", "file"), nil, 0o600, newOptions(c.opts)))
			assert.Equal(t, c.parents, m.count("syncDir"))
		})
	}
}
