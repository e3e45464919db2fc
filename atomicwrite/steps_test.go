package atomicwrite

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	oldContent = "old content\n"
	newContent = "new content, which is longer\n"
)

// undertaking is one way to replace a file, from a place that it prepares to the end.
type undertaking struct {
	name    string
	prepare func(dir string) error // besides the old file at dir/file
	target  string                 // whose content is looked at; dir/file if empty
	missing bool                   // there is no old file
	run     func(s system, dir string) error
}

func undertakings() []undertaking {
	write := func(opts ...Option) func(system, string) error {
		return func(s system, dir string) error {
			return writeFile(s, filepath.Join(dir, "file"), []byte(newContent), 0o600, newOptions(opts))
		}
	}
	return []undertaking{
		{name: "plain", run: write()},
		{name: "missing", missing: true, run: write()},
		{name: "not synced", run: write(Sync(SyncNone))},
		{name: "exact and compared", run: write(ExactMode(), IfChanged())},
		{
			name: "compared, of one length",
			run: func(s system, dir string) error {
				data := []byte(newContent[:len(oldContent)])
				return writeFile(s, filepath.Join(dir, "file"), data, 0o600, newOptions([]Option{IfChanged()}))
			},
		},
		{
			name: "parents", missing: true, target: "a/b/file",
			run: func(s system, dir string) error {
				return writeFile(s, filepath.Join(dir, "a", "b", "file"), []byte(newContent), 0o600, newOptions(nil))
			},
		},
		{
			name: "link", target: "there/referent", missing: true,
			prepare: func(dir string) error {
				there := filepath.Join(dir, "there")
				if err := os.Mkdir(there, 0o755); err != nil {
					return err
				}
				if err := os.WriteFile(filepath.Join(there, "referent"), []byte(oldContent), 0o600); err != nil {
					return err
				}
				return os.Symlink(filepath.Join("there", "referent"), filepath.Join(dir, "file"))
			},
			run: write(FollowSymlink()),
		},
		{
			name: "streamed",
			run: func(s system, dir string) error {
				w, err := create(s, filepath.Join(dir, "file"), 0o600, newOptions([]Option{IfChanged()}))
				if err != nil {
					return err
				}
				_, first := w.Write([]byte(newContent[:7]))
				_, second := w.Write([]byte(newContent[7:]))
				err = w.Commit()
				if first != nil || second != nil {
					if err == nil {
						return errors.New("committed after a failed write")
					}
				}
				if closed := w.Close(); closed != nil {
					return fmt.Errorf("closed after commit: %w", closed)
				}
				return err
			},
		},
		{
			name: "updated",
			run: func(s system, dir string) error {
				r := replacement{sys: s, opt: newOptions(nil), path: filepath.Join(dir, "file"), stated: 0o600}
				r.check = func() error { return nil }
				return update(r, func(old []byte, exists bool) ([]byte, error) {
					if string(old) != oldContent || !exists {
						return nil, fmt.Errorf("read %q", old)
					}
					return []byte(newContent), nil
				})
			},
		},
	}
}

// shm is a directory in memory where there is one: ext4 writes to the disk at each replacement.
var shm = func() string {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		return "/dev/shm"
	}
	return ""
}()

func (u undertaking) place(t *testing.T) (dir, target string) {
	t.Helper()
	if u.name == "link" && runtime.GOOS == "windows" {
		t.Skip("links need a privilege on Windows")
	}
	dir, err := os.MkdirTemp(shm, "aw")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	if !u.missing {
		put(t, filepath.Join(dir, "file"), oldContent, 0o600)
	}
	if u.prepare != nil {
		require.NoError(t, u.prepare(dir))
	}
	return dir, filepath.Join(dir, filepath.FromSlash(cmp.Or(u.target, "file")))
}

// TestEveryStepFails makes operations fail, one alone and each two of them, before and after they take effect, until there
// is no such operation any more.
func TestEveryStepFails(t *testing.T) {
	for _, u := range undertakings() {
		t.Run(u.name, func(t *testing.T) {
			for first := 0; ; first++ {
				reached := false
				for _, late := range [][2]bool{{false, false}, {true, false}, {false, true}, {true, true}} {
					for second := first; ; second++ {
						m := newMachine()
						m.faults(late[0])[first] = injected
						if second > first {
							m.faults(late[1])[second] = injected
						}
						if !failAndCheck(t, u, m, first, second) {
							break
						}
						reached = true
					}
				}
				if !reached {
					assert.Greater(t, first, 5, "operations")
					return
				}
			}
		})
	}
}

func (m *machine) faults(late bool) map[int]error {
	if late {
		return m.after
	}
	return m.before
}

// failAndCheck runs u over m, and reports whether it came as far as both faults.
func failAndCheck(t *testing.T, u undertaking, m *machine, first, second int) bool {
	dir, target := u.place(t)
	open := descriptors(t)
	wide := ""
	m.hook = func(step int, _ bool) {
		if first != second {
			return // seen with the first alone
		}
		for _, temp := range slices.Concat(temps(t, dir), temps(t, filepath.Dir(target))) {
			if info, err := os.Lstat(temp); err == nil && info.Mode()&modeKept&^0o600 != 0 {
				wide = m.steps[step]
			}
		}
	}
	err := u.run(m, dir)
	m.hook = nil
	if len(m.steps) <= second {
		return false
	}
	where := fmt.Sprintf("faults at %d and %d of %v, error: %v", first, second, m.steps, err)

	data, readErr := os.ReadFile(target)
	isNew := len(data) > 0 && string(data) == newContent[:len(data)]
	if readErr != nil {
		require.ErrorIs(t, readErr, os.ErrNotExist)
		require.True(t, u.missing, where)
	} else if !isNew {
		require.Equal(t, oldContent, string(data), where)
	}

	left := temps(t, filepath.Dir(target))
	var e *Error
	if err == nil {
		require.True(t, isNew, where)
		require.Empty(t, left, where)
	} else {
		require.ErrorAs(t, err, &e, where)
		require.ErrorIs(t, err, injected, where)
		require.Equal(t, isNew, e.Replaced, where)
		require.NotContains(t, err.Error(), "\n")
		if e.Temp == "" {
			require.Empty(t, left, where)
		} else {
			require.Equal(t, []string{e.Temp}, left, where)
			require.Contains(t, err.Error(), e.Temp)
		}
	}
	require.Empty(t, wide, where)
	require.Equal(t, open, descriptors(t), where)
	require.Equal(t, m.opens, m.closes, where)
	return true
}

// descriptors counts what this process has open, where the system tells.
func descriptors(t *testing.T) int {
	t.Helper()
	if runtime.GOOS != "linux" {
		return 0
	}
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(entries)
}

// TestKilledAtEveryStep kills a process before and after each operation of a replacement. There are two allowed answers:
// old or new, whole. The next writer needs no help.
func TestKilledAtEveryStep(t *testing.T) {
	for i, u := range undertakings() {
		t.Run(u.name, func(t *testing.T) {
			for step := 0; ; step++ {
				finished := false
				for _, done := range []bool{false, true} {
					dir, target := u.place(t)
					cmd := child(t, "killed", strconv.Itoa(i), dir, strconv.Itoa(step), strconv.FormatBool(done))
					out, err := cmd.CombinedOutput()
					if err == nil {
						finished = true
						break
					}
					require.NotEqual(t, 2, cmd.ProcessState.ExitCode(), "%s", out)
					require.Empty(t, out)

					data, err := os.ReadFile(target)
					if err != nil {
						require.ErrorIs(t, err, os.ErrNotExist)
						require.True(t, u.missing)
					} else {
						require.Contains(t, []string{oldContent, newContent, newContent[:len(oldContent)]}, string(data))
					}
					left := temps(t, filepath.Dir(target))
					require.LessOrEqual(t, len(left), 1)
					require.NoError(t, WriteFile(target, []byte("next"), 0o600))
					require.Equal(t, "next", contentOf(t, target))
				}
				if finished {
					assert.Greater(t, step, 5, "operations")
					return
				}
			}
		})
	}
}

func init() {
	children["killed"] = func(args []string) error {
		which, _ := strconv.Atoi(args[0])
		at, _ := strconv.Atoi(args[2])
		m := newMachine()
		m.hook = func(step int, done bool) {
			if step == at && strconv.FormatBool(done) == args[3] {
				self, err := os.FindProcess(os.Getpid())
				if err == nil {
					err = self.Kill()
				}
				if err != nil {
					os.Exit(2)
				}
				select {}
			}
		}
		return undertakings()[which].run(m, args[1])
	}
}
