package atomicwrite

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/sys"
)

func TestIfChanged(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", 10_000)
	windows := runtime.GOOS == "windows"
	for _, c := range []struct {
		name      string
		always    bool // without IfChanged
		old, next string
		there     fs.FileMode
		stated    fs.FileMode
		opts      []Option
		written   bool
	}{
		{name: "equal", old: long, next: long, there: 0o600, stated: 0o600},
		{name: "equal, but not asked for", always: true, old: long, next: long, there: 0o600, stated: 0o600, written: true},
		{name: "equal and empty", there: 0o600, stated: 0o600},
		{name: "other", old: oldContent, next: newContent, there: 0o600, stated: 0o600, written: true},
		{name: "first byte", old: "a" + long, next: "b" + long, there: 0o600, stated: 0o600, written: true},
		{name: "last byte", old: long + "a", next: long + "b", there: 0o600, stated: 0o600, written: true},
		{name: "shorter", old: long + "a", next: long, there: 0o600, stated: 0o600, written: true},
		{name: "longer", old: long, next: long + "a", there: 0o600, stated: 0o600, written: true},
		{name: "wider than stated", old: long, next: long, there: 0o644, stated: 0o600, written: !windows},
		{name: "narrower than stated", old: long, next: long, there: 0o600, stated: 0o644},
		{name: "narrower than exact", old: long, next: long, there: 0o600, stated: 0o644, opts: []Option{ExactMode()}, written: !windows},
		{name: "exact", old: long, next: long, there: 0o644, stated: 0o644, opts: []Option{ExactMode()}},
		{name: "mode kept", old: long, next: long, there: 0o644, stated: 0o600, opts: []Option{KeepMode()}},
		{name: "mode kept, even of set-id", old: long, next: long, there: 0o755 | fs.ModeSetuid, stated: 0o600, opts: []Option{KeepMode()}},
		{name: "mode kept, exact otherwise", old: long, next: long, there: 0o644, stated: 0o600, opts: []Option{KeepMode(), ExactMode()}},
		{name: "read-only", old: long, next: long, there: 0o400, stated: 0o600, opts: []Option{ExactMode()}, written: true},
	} {
		for _, way := range []string{"WriteFile", "Create", "Update"} {
			t.Run(way+"/"+c.name, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "file")
				put(t, path, c.old, c.there)
				before := identity(t, path)
				opts := c.opts
				if !c.always {
					opts = append([]Option{IfChanged()}, opts...)
				}
				switch way {
				case "WriteFile":
					require.NoError(t, WriteFile(path, []byte(c.next), c.stated, opts...))
				case "Create":
					w, err := Create(path, c.stated, opts...)
					require.NoError(t, err)
					_, err = w.Write([]byte(c.next))
					require.NoError(t, err)
					require.NoError(t, w.Commit())
				case "Update":
					require.NoError(t, Update(t.Context(), path, c.stated, func([]byte, bool) ([]byte, error) {
						return []byte(c.next), nil
					}, opts...))
				}
				assert.Equal(t, c.written, before != identity(t, path))
				assert.Equal(t, c.next, contentOf(t, path))
				assert.Equal(t, []string{"file"}, names(t, filepath.Dir(path)))
			})
		}
	}
}

func TestIfChangedReplacesLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege on Windows")
	}
	for _, followed := range []bool{false, true} {
		dir := t.TempDir()
		put(t, filepath.Join(dir, "referent"), newContent, 0o600)
		link(t, "referent", filepath.Join(dir, "file"))
		opts := []Option{IfChanged()}
		if followed {
			opts = append(opts, FollowSymlink())
		}
		before, err := os.Stat(filepath.Join(dir, "referent"))
		require.NoError(t, err)
		require.NoError(t, WriteFile(filepath.Join(dir, "file"), []byte(newContent), 0o600, opts...))
		after, err := os.Stat(filepath.Join(dir, "file"))
		require.NoError(t, err)
		assert.Equal(t, followed, os.SameFile(before, after))
		assert.Equal(t, followed, modeOf(t, filepath.Join(dir, "file"))&fs.ModeSymlink != 0)
	}
}

// TestIfChangedIsDurable: content that is left alone may come from a writer that did not sync.
func TestIfChangedIsDurable(t *testing.T) {
	for _, c := range []struct {
		name    string
		policy  SyncPolicy
		refused string // this operation
		nth     int    // only the first, if 0
		answer  error
		content string // newContent if empty
		steps   map[string]int
	}{
		{name: "all", policy: SyncAll, steps: map[string]int{"sync": 1, "syncDir": 1, "replace": 0}},
		{name: "file", policy: SyncFile, steps: map[string]int{"sync": 1, "syncDir": 0, "replace": 0}},
		{name: "none", policy: SyncNone, steps: map[string]int{"sync": 0, "syncDir": 0, "replace": 0}},
		{
			name: "not possible on Windows", policy: SyncAll, refused: "sync", answer: sys.NotPermitted,
			steps: map[string]int{"sync": 1, "replace": 0},
		},
		{
			name: "no directories there", policy: SyncAll, refused: "syncDir", answer: sys.Invalid,
			steps: map[string]int{"syncDir": 1, "replace": 0},
		},
		{name: "failed", policy: SyncAll, refused: "sync", answer: sys.IO, steps: map[string]int{"sync": 2, "replace": 1}},
		{name: "directory failed", policy: SyncAll, refused: "syncDir", answer: sys.IO, steps: map[string]int{"syncDir": 2, "replace": 1}},
		{name: "cannot be read", policy: SyncNone, refused: "open", answer: sys.AccessDenied, steps: map[string]int{"replace": 1}},
		{name: "cannot be looked at", policy: SyncNone, refused: "stat", answer: sys.IO, steps: map[string]int{"replace": 1}},
		{
			name: "reading the end fails", policy: SyncNone, refused: "read", nth: 2, answer: sys.IO,
			steps: map[string]int{"replace": 1},
		},
		{name: "of another length", content: oldContent, steps: map[string]int{"open": 0, "replace": 1}},
		{name: "reading fails", policy: SyncNone, refused: "read", answer: sys.IO, steps: map[string]int{"replace": 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "file")
			put(t, path, newContent, 0o600)
			m := newMachine()
			m.fail = func(op string, _ int) error {
				if op == c.refused && m.count(op) == max(c.nth, 1) {
					return c.answer
				}
				return nil
			}
			data := cmp.Or(c.content, newContent)
			require.NoError(t, writeFile(m, path, []byte(data), 0o600, newOptions([]Option{IfChanged(), Sync(c.policy)})))
			for op, n := range c.steps {
				assert.Equal(t, n, m.count(op), op)
			}
			assert.Equal(t, data, contentOf(t, path))
		})
	}
}

// TestIfChangedLooksAgain has the file replaced between the first look and the opening, by content that is as we want it:
// whether its mode is was not looked at.
func TestIfChangedLooksAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	put(t, path, newContent, 0o600)
	m := newMachine()
	m.hook = func(step int, done bool) {
		if m.steps[step] == "open" && !done {
			put(t, path+".other", newContent, 0o600)
			require.NoError(t, os.Rename(path+".other", path))
		}
	}
	require.NoError(t, writeFile(m, path, []byte(newContent), 0o600, newOptions([]Option{IfChanged()})))
	assert.Equal(t, 1, m.count("replace"))
}

// TestIfChangedCannotReadBack: what was streamed cannot be compared, so it is published.
func TestIfChangedCannotReadBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	put(t, path, newContent, 0o600)
	m := newMachine()
	m.fail = func(op string, _ int) error {
		if op == "readAt" {
			return injected
		}
		return nil
	}
	w, err := create(m, path, 0o600, newOptions([]Option{IfChanged()}))
	require.NoError(t, err)
	_, err = w.Write([]byte(newContent))
	require.NoError(t, err)
	require.NoError(t, w.Commit())
	assert.Equal(t, 1, m.count("readAt"))
	assert.Equal(t, 1, m.count("replace"))

	r := replacement{sys: osSystem{}, opt: newOptions(nil), path: path, stated: 0o600}
	require.NoError(t, r.find())
	defer r.leave()
	assert.False(t, r.unchanged(vanished{}))
}

// vanished is content of the right size of which nothing can be read.
type vanished struct{}

func (vanished) size() int64 { return int64(len(newContent)) }

func (vanished) ReadAt([]byte, int64) (int, error) { return 0, nil }
