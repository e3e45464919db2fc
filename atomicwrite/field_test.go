package atomicwrite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/filelock"
	"github.com/holdfast-go/holdfast/internal/sys"
)

// TestField has one subtest for each kind of fault that public reports tell of. Those that need a system of their own are
// in the files of that system.
func TestField(t *testing.T) {
	for _, row := range []struct {
		name string
		run  func(t *testing.T)
	}{
		{"W1", umaskApplies},
		{"W2", neverWiderThanStated},
		{"W3", fullDisk},
		{"W4", irregularTargets},
		{"W5", bindMount},
		{"W6", links},
		{"W7", directorySync},
		{"W8", readersDuringReplacement},
		{"W9", openElsewhere},
		{"W10", withoutOwnerWrite},
		{"W11", longPath},
		{"W12", samePID},
		{"W13", takenTempName},
		{"W14", longName},
		{"W15", streamedAndAbandoned},
		{"W16", inheritance},
		{"W17", foreignDirectory},
		{"W18", twoProcessesUpdate},
		{"W19", updateMeetsNonsense},
		{"W21", updatePanics},
	} {
		t.Run(row.name, row.run)
	}
}

func neverWiderThanStated(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such modes")
	}
	for _, c := range []struct {
		name         string
		there        fs.FileMode // of the old file
		stated, want fs.FileMode
		opts         []Option
	}{
		{"narrower than before", 0o644, 0o600, 0o600, nil},
		{"kept narrow", 0o600, 0o644, 0o600, []Option{KeepMode()}},
		{"exactly narrow", 0o666, 0o440, 0o440, []Option{ExactMode()}},
		{"exactly without the owner", 0o666, 0o040, 0o040, []Option{ExactMode()}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "file")
			put(t, path, oldContent, c.there)
			looked := 0
			m := newMachine()
			m.hook = func(int, bool) {
				for _, temp := range temps(t, dir) {
					looked++
					assert.Zero(t, modeOf(t, temp)&^c.want, "the temporary file is %v", modeOf(t, temp))
				}
				if info, err := os.Lstat(path); err == nil && info.Size() == int64(len(newContent)) {
					looked++
					assert.Equal(t, c.want, info.Mode())
				}
			}
			require.NoError(t, writeFile(m, path, []byte(newContent), c.stated, newOptions(c.opts)))
			assert.Greater(t, looked, 6)
			assert.Equal(t, c.want, modeOf(t, path))
		})
	}
}

func directorySync(t *testing.T) {
	for _, c := range []struct {
		answer   error
		tolerate bool
	}{
		{sys.Invalid, true},
		{sys.Unsupported, true},
		{sys.IO, false},
		{sys.AccessDenied, false},
	} {
		t.Run(c.answer.Error(), func(t *testing.T) {
			for _, path := range []string{"file", filepath.Join("made", "file")} {
				path := filepath.Join(t.TempDir(), path)
				m := newMachine()
				m.fail = func(op string, _ int) error {
					if op == "syncDir" {
						return c.answer
					}
					return nil
				}
				err := writeFile(m, path, []byte(newContent), 0o600, newOptions(nil))
				made := filepath.Base(filepath.Dir(path)) == "made"
				switch {
				case c.tolerate:
					require.NoError(t, err)
				case made: // the new directory could not be made durable: the file was not begun
					var e *Error
					require.ErrorAs(t, err, &e)
					assert.False(t, e.Replaced)
					assert.NoFileExists(t, path)
					continue
				default:
					var e *Error
					require.ErrorAs(t, err, &e)
					require.ErrorIs(t, err, c.answer)
					assert.True(t, e.Replaced)
					assert.Contains(t, err.Error(), "the new content is in place, but a power cut may bring the old back")
				}
				assert.Equal(t, newContent, contentOf(t, path))
				assert.Empty(t, temps(t, filepath.Dir(path)))
			}
		})
	}
}

func takenTempName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	taken := path + ".010203040506.tmp"
	put(t, taken, "a stranger's", 0o600)
	put(t, path, oldContent, 0o600)
	first := [tempRandom]byte{1, 2, 3, 4, 5, 6}

	m := newMachine()
	m.draws = [][tempRandom]byte{first, {0xa, 0xb, 0xc, 0xd, 0xe, 0xf}}
	var during []string
	m.hook = func(int, bool) {
		for _, temp := range temps(t, filepath.Dir(path)) {
			if temp != taken {
				during = append(during, filepath.Base(temp))
			}
		}
	}
	require.NoError(t, writeFile(m, path, []byte(newContent), 0o600, newOptions(nil)))
	require.NotEmpty(t, during)
	assert.Equal(t, "file.0a0b0c0d0e0f.tmp", during[0])
	assert.Equal(t, newContent, contentOf(t, path))
	assert.Equal(t, "a stranger's", contentOf(t, taken))

	m = newMachine()
	m.draws = [][tempRandom]byte{first}
	m.fail = func(op string, _ int) error {
		if op == "createNew" {
			return sys.TooManyFiles
		}
		return nil
	}
	require.Error(t, writeFile(m, path, []byte(oldContent), 0o600, newOptions(nil)))
	assert.Equal(t, "a stranger's", contentOf(t, taken))

	put(t, path, oldContent, 0o600)
	m = newMachine()
	for range 100 {
		m.draws = append(m.draws, first)
	}
	err := writeFile(m, path, []byte(newContent), 0o600, newOptions(nil))
	require.ErrorIs(t, err, fs.ErrExist)
	assert.Equal(t, tempAttempts, m.count("createNew"), "names drawn")
	assert.Equal(t, oldContent, contentOf(t, path))
	assert.Equal(t, "a stranger's", contentOf(t, taken))
}

// longName is what Node has no part in: write.json has the rest.
func longName(t *testing.T) {
	t.Run("a file system with a lower limit", func(t *testing.T) {
		for _, c := range []struct {
			limit int
			want  error
		}{{143, nil}, {142, ErrNameTooLong}, {10, ErrNameTooLong}} {
			dir := shortDir(t)
			m := newMachine()
			m.named = func(name string) error {
				if len(name) > c.limit {
					return sys.NameTooLong
				}
				return nil
			}
			path := filepath.Join(dir, strings.Repeat("n", 143))
			require.ErrorIs(t, writeFile(m, path, []byte(newContent), 0o600, newOptions(nil)), c.want)
			assert.LessOrEqual(t, m.count("createNew"), 2)
		}
	})
	m := newMachine()
	path := filepath.Join(shortDir(t), strings.Repeat("n", 256))
	err := writeFile(m, path, []byte(newContent), 0o600, newOptions(nil))
	require.ErrorIs(t, err, ErrNameTooLong)
	assert.Contains(t, err.Error(), "255 bytes")
	assert.Empty(t, m.steps)
}

// shortDir is a directory whose path does not carry the test's name.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "aw")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func withoutOwnerWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, data := range []string{oldContent, newContent} {
		require.NoError(t, WriteFile(path, []byte(data), 0o400))
		assert.Equal(t, data, contentOf(t, path))
		assert.Zero(t, modeOf(t, path)&0o200)
	}
	require.NoError(t, os.Chmod(path, 0o600)) // so that it can be removed everywhere
}

func longPath(t *testing.T) {
	path := t.TempDir()
	for range 6 {
		path = filepath.Join(path, strings.Repeat("d", 60))
	}
	path = filepath.Join(path, "file")
	require.Greater(t, len(path), 360)
	for _, data := range []string{oldContent, newContent} {
		require.NoError(t, WriteFile(path, []byte(data), 0o600))
		got, err := ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, data, string(got))
	}
}

func streamedAndAbandoned(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	put(t, path, oldContent, 0o600)
	w, err := Create(path, 0o600)
	require.NoError(t, err)
	assert.Len(t, temps(t, filepath.Dir(path)), 1)
	require.NoError(t, w.Close())
	assert.Equal(t, oldContent, contentOf(t, path))
	assert.Empty(t, temps(t, filepath.Dir(path)))
}

// patient waits for a lock as long as a slow machine may take; the tests that use it are not about waiting.
func patient() Option { return Locking(filelock.Wait(2 * time.Minute)) }

func init() {
	children["add keys"] = func(args []string) error {
		first, _ := strconv.Atoi(args[1])
		for key := first; key < first+200; key++ {
			err := Update(context.Background(), args[0], 0o600, func(old []byte, exists bool) ([]byte, error) {
				keys := map[string]int{}
				if exists {
					if err := json.Unmarshal(old, &keys); err != nil {
						return nil, err
					}
				}
				keys[strconv.Itoa(key)] = key
				return json.Marshal(keys)
			}, Sync(SyncNone), patient())
			if err != nil {
				return err
			}
		}
		return nil
	}
}

func twoProcessesUpdate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "keys.json")
	first := child(t, "add keys", path, "0")
	second := child(t, "add keys", path, "200")
	var said [2]strings.Builder
	first.Stderr, second.Stderr = &said[0], &said[1]
	require.NoError(t, first.Start())
	require.NoError(t, second.Start())
	require.NoError(t, errors.Join(first.Wait(), second.Wait()), "%s%s", &said[0], &said[1])

	var keys map[string]int
	require.NoError(t, json.Unmarshal([]byte(contentOf(t, path)), &keys))
	assert.Len(t, keys, 400)
	assert.Equal(t, []string{"keys.json"}, names(t, filepath.Dir(path)))
}

func updateMeetsNonsense(t *testing.T) {
	path := filepath.Join(t.TempDir(), "settings.json")
	put(t, path, "{ not JSON", 0o600)
	before := identity(t, path)
	var syntax *json.SyntaxError
	err := Update(t.Context(), path, 0o600, func(old []byte, exists bool) ([]byte, error) {
		assert.True(t, exists)
		var v any
		return nil, json.Unmarshal(old, &v)
	})
	require.ErrorAs(t, err, &syntax)
	assert.Equal(t, before, identity(t, path))
	assert.Equal(t, "{ not JSON", contentOf(t, path))
	assert.Equal(t, []string{"settings.json"}, names(t, filepath.Dir(path)))
}

func updatePanics(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	put(t, path, oldContent, 0o600)
	open := descriptors(t)
	assert.PanicsWithValue(t, "fn's own", func() {
		_ = Update(t.Context(), path, 0o600, func([]byte, bool) ([]byte, error) { panic("fn's own") })
	})
	assert.Equal(t, oldContent, contentOf(t, path))
	assert.Equal(t, []string{"file"}, names(t, filepath.Dir(path)))
	assert.Equal(t, open, descriptors(t))
	require.NoError(t, Update(t.Context(), path, 0o600, func([]byte, bool) ([]byte, error) {
		return []byte(newContent), nil
	}, Locking(filelock.Wait(0))))
	assert.Equal(t, newContent, contentOf(t, path))
}

// readersDuringReplacement has writers replace one file while readers read it: each sees a whole content.
func readersDuringReplacement(t *testing.T) {
	const workers, rounds = 10, 20
	path := filepath.Join(t.TempDir(), "file")
	whole := func(b byte) string { return strings.Repeat(string(rune('a'+b)), 20_000+int(b)) }
	require.NoError(t, WriteFile(path, []byte(whole(0)), 0o600, Sync(SyncNone)))
	failed := make(chan error, 2*workers)
	for n := range byte(workers) {
		go func() {
			failed <- func() error {
				for range rounds {
					if err := WriteFile(path, []byte(whole(n)), 0o600, Sync(SyncNone)); err != nil {
						return err
					}
				}
				return nil
			}()
		}()
		go func() {
			failed <- func() error {
				for range rounds {
					data, err := ReadFile(path)
					if err != nil {
						return err
					}
					if len(data) == 0 || string(data) != whole(data[0]-'a') {
						return fmt.Errorf("%d bytes of %q", len(data), data[:min(len(data), 3)])
					}
				}
				return nil
			}()
		}()
	}
	for range 2 * workers {
		assert.NoError(t, <-failed)
	}
	assert.Empty(t, temps(t, filepath.Dir(path)))
}
