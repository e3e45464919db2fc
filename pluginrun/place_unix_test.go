//go:build unix

package pluginrun

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// However a profile is named, and wherever we are by the end of the run, its files are restored, and no others.
func TestNameOfTheProfile(t *testing.T) {
	for _, c := range []struct{ name, in string }{
		{".", "p"}, {"./", "p"}, {"./.", "p"}, {"p", "."}, {"./p", "."}, {"../p", "q"}, {"link/../p", "q"}, {"../p", "q/link"},
	} {
		t.Run(c.name+" in "+c.in, func(t *testing.T) {
			top := t.TempDir()
			dir := filepath.Join(top, "p")
			other := filepath.Join(top, "other", "p")
			for _, d := range []string{dir, filepath.Join(top, "q"), other} {
				require.NoError(t, os.MkdirAll(d, 0o755))
				write(t, filepath.Join(d, "pnpm-lock.yaml"), "another's\n")
			}
			require.NoError(t, os.Remove(filepath.Join(dir, "pnpm-lock.yaml")))
			require.NoError(t, os.Symlink(other, filepath.Join(top, "q", "link")))
			write(t, filepath.Join(dir, manifest), "{}\n")
			if strings.Contains(c.in+c.name, "link") {
				dir, other = other, dir
				write(t, filepath.Join(dir, manifest), "{}\n")
				require.NoError(t, os.Remove(filepath.Join(dir, "pnpm-lock.yaml")))
				write(t, filepath.Join(other, "pnpm-lock.yaml"), "another's\n")
			}
			t.Chdir(filepath.Join(top, c.in))
			moved := OnStart(func(int) { require.NoError(t, os.Chdir(filepath.Dir(other))) })
			r, err := New(c.name, Program("sh"), moved).Run(context.Background(), "-c", "echo new | tee package.json >pnpm-lock.yaml; exit 1")
			require.NoError(t, err)
			assert.Equal(t, []string{manifest, "pnpm-lock.yaml"}, r.Restored)
			assert.Equal(t, "{}\n", read(t, filepath.Join(dir, manifest)))
			assert.NoFileExists(t, filepath.Join(dir, "pnpm-lock.yaml"))
			assert.Equal(t, "another's\n", read(t, filepath.Join(other, "pnpm-lock.yaml")))
			settled(t, dir)
		})
	}
}

// A profile that is moved while its program runs is not settled by its old path: what is there by then stays as it is, and what
// the next run will do in the moved one is said.
func TestMovedProfile(t *testing.T) {
	for _, code := range []string{"0", "3"} {
		for name, then := range map[string]string{"moved": "", "replaced": "mkdir ../p; echo b >../p/package.json; echo b >../p/pnpm-lock.yaml; "} {
			t.Run(name+" "+code, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "p")
				require.NoError(t, os.Mkdir(dir, 0o755))
				moved := filepath.Join(filepath.Dir(dir), "moved")
				r, err := shell(t, dir, "echo a >package.json; mv ../p ../moved; "+then+"exit "+code)
				assert.NotNil(t, r)
				var failed *Error
				require.ErrorAs(t, err, &failed)
				assert.Equal(t, dir, failed.Path)
				assert.ErrorIs(t, err, errMovedOn)
				if then != "" {
					assert.Equal(t, "b\n", read(t, filepath.Join(dir, manifest)))
					assert.Equal(t, "b\n", read(t, filepath.Join(dir, "pnpm-lock.yaml")))
				}
				assert.Equal(t, "a\n", read(t, filepath.Join(moved, manifest)))
				_, err = shell(t, moved, "")
				require.NoError(t, err)
				assert.NoFileExists(t, filepath.Join(moved, manifest))
				settled(t, moved)
			})
		}
	}
}

func TestInspectBehindALink(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "other", "p")
	require.NoError(t, os.MkdirAll(place{dir}.own(), 0o700))
	write(t, place{dir}.record(), "{\"pid\":2147483647,\"grouped\":true}\n")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "sub"), 0o755))
	require.NoError(t, os.Symlink(filepath.Join(dir, "sub"), filepath.Join(top, "link")))
	state, err := Inspect(top + "/link/..")
	require.NoError(t, err)
	assert.True(t, state.Recorded)
	assert.FileExists(t, state.Record)
}

// One that is moved before its program begins, as during the wait for its lock, has no run, nor has what is in its place.
func TestProfileMovedBeforehand(t *testing.T) {
	for at, then := range map[string]bool{"lock": true, "openRecord": false, "lstat": false} {
		t.Run(at, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "p")
			require.NoError(t, os.Mkdir(dir, 0o755))
			moved := filepath.Join(filepath.Dir(dir), "moved")
			move := sync.OnceFunc(func() {
				require.NoError(t, os.Rename(dir, moved))
				require.NoError(t, os.Mkdir(dir, 0o755))
			})
			s := stepped{on: func(step string, after bool) error {
				if step == at && after == then {
					move()
				}
				return nil
			}}
			r, err := run(context.Background(), s, newActive(), dir, newOptions([]Option{Program("sh")}), []string{"-c", "touch ran"})
			require.ErrorIs(t, err, errMoved)
			assert.NotErrorIs(t, err, errMovedOn)
			assert.Nil(t, r)
			for _, d := range []string{dir, moved} {
				assert.NoFileExists(t, filepath.Join(d, "ran"))
				_, err := shell(t, d, "", LockWait(0))
				require.NoError(t, err)
				settled(t, d)
			}
		})
	}
}

// A program that is named by way of "link/..", or found there, is the one that a shell would run.
func TestProgramBehindALink(t *testing.T) {
	top := t.TempDir()
	for _, dir := range []string{"other/sub", "other/bin", "bin", "p"} {
		require.NoError(t, os.MkdirAll(filepath.Join(top, dir), 0o755))
	}
	require.NoError(t, os.Symlink("other/sub", filepath.Join(top, "link")))
	for dir, code := range map[string]string{"bin": "1", "other/bin": "7"} {
		require.NoError(t, os.WriteFile(filepath.Join(top, dir, "prog"), []byte("#!/bin/sh\nexit "+code+"\n"), 0o755))
	}
	t.Chdir(top)
	for _, c := range []struct{ program, path string }{
		{"link/../bin/prog", ""}, {"./link/../bin/prog", ""}, {top + "/link/../bin/prog", ""},
		{"prog", top + "/link/../bin"}, {"prog", top + "/link/../bin/"},
	} {
		r, err := New("p", Program(c.program), Env([]string{"PATH=" + c.path})).Run(context.Background())
		require.NoError(t, err, c)
		assert.Equal(t, 7, r.ExitCode, c)
	}
}

// nowhere is a machine on which nobody finds out where we are, as below a directory that we may not search.
type nowhere struct{ osSystem }

func (nowhere) absolute(string) (string, error) { return "", syscall.EACCES }

// A profile that is named by way of "link/.." is where the system says for each step, also where it has no other name.
func TestProfileBehindALinkFromNowhere(t *testing.T) {
	top := t.TempDir()
	for _, dir := range []string{"other/sub", "other/p", "p"} {
		require.NoError(t, os.MkdirAll(filepath.Join(top, dir), 0o755))
	}
	require.NoError(t, os.Symlink("other/sub", filepath.Join(top, "link")))
	dir := filepath.Join(top, "other", "p")
	write(t, filepath.Join(dir, manifest), "{}\n")
	t.Chdir(top)
	for _, name := range []string{"link/../p", "link/../p/"} {
		script := "echo new | tee package.json >pnpm-lock.yaml; ls package.json.lock .plugin-manager/run.json .plugin-manager/restore/*/index.json; exit $((3 + $?))"
		r, err := run(context.Background(), nowhere{}, newActive(), name, newOptions([]Option{Program("sh")}), []string{"-c", script})
		require.NoError(t, err)
		assert.Equal(t, 3, r.ExitCode, "%s", r.Tail)
		assert.Equal(t, []string{manifest, "pnpm-lock.yaml"}, r.Restored)
		assert.Equal(t, "{}\n", read(t, filepath.Join(dir, manifest)))
		assert.FileExists(t, r.Log)
		settled(t, dir)
		beside, err := os.ReadDir(filepath.Join(top, "p"))
		require.NoError(t, err)
		assert.Empty(t, beside)
		recordOf(t, dir, 2147483647, true)
		state, err := inspect(nowhere{}, name)
		require.NoError(t, err)
		assert.True(t, state.Recorded)
		require.NoError(t, os.Remove(state.Record))
	}
}
