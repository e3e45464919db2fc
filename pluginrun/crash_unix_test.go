//go:build unix

package pluginrun

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func init() { children["step"] = childStep }

// recordedProgram fails unless a record names it; it changes the files, then ends by exit.
const recordedProgram = `grep -q '"pid":'$$, .plugin-manager/run.json && echo recorded >>started || echo unrecorded >>started
echo changed >package.json; echo 1 >pnpm-lock.yaml; exit `

// childStep DIR N SCRIPT: a run that kills itself with -9 at its nth step, counted with those before and those after it.
func childStep(args []string) error {
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	s := stepped{on: func(string, bool) error {
		if n--; n == 0 {
			return syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		return nil
	}}
	_, err = run(context.Background(), s, newActive(), args[0], newOptions([]Option{Program("sh")}), []string{"-c", args[2]})
	return err
}

// crash runs childStep and reports whether it was killed.
func crash(t *testing.T, dir string, n int, script string) bool {
	t.Helper()
	out, err := command("step", dir, strconv.Itoa(n), script).CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return true
	}
	require.NoError(t, err, "%s", out)
	return false
}

// untilNone waits until no process of the profile's runs is left, and the recorded one neither.
func untilNone(t *testing.T, dir string) {
	t.Helper()
	require.Eventually(t, func() bool {
		state, err := Inspect(dir)
		return err == nil && state.Verdict == Stopped
	}, 20*time.Second, 2*time.Millisecond)
}

// A manager that is killed at any step: no program ever ran that was not recorded, the files are as before or as the program
// made them, and the next run begins without anybody's help, with the files as before if the killed run was to fail.
func TestKilledAtEachStep(t *testing.T) {
	for _, exit := range []string{"0", "1"} {
		t.Run("exit "+exit, func(t *testing.T) {
			for n := 1; ; n++ {
				dir := profile(t)
				killed := crash(t, dir, n, recordedProgram+exit)
				untilNone(t, dir)
				started, err := os.ReadFile(filepath.Join(dir, "started"))
				if !errors.Is(err, fs.ErrNotExist) {
					require.NoError(t, err)
				}
				require.Contains(t, []string{"", "recorded\n"}, string(started), "step %d", n)
				_, err = os.Stat(place{dir}.record())
				recorded := err == nil

				r, err := shell(t, dir, "cat package.json; ls pnpm-lock.yaml 2>/dev/null; true")
				require.NoError(t, err, "step %d", n)
				require.Equal(t, recorded, r.Leftover != nil, "step %d", n)
				before, after := "{}\n", "changed\npnpm-lock.yaml\n"
				if exit == "1" || string(started) == "" {
					require.Equal(t, before, string(r.Tail), "step %d", n)
				} else {
					require.Contains(t, []string{before, after}, string(r.Tail), "step %d", n)
				}
				settled(t, dir)
				if !killed {
					assert.Greater(t, n, 30, "steps")
					t.Logf("%d steps", n-1)
					return
				}
			}
		})
	}
}

// Killed again and again while it restores, at each step: somebody finishes.
func TestKilledWhileRestoring(t *testing.T) {
	for n := 1; ; n++ {
		dir := profile(t)
		was := contents(t, dir)
		// a run that was killed when its program had done its work
		manager, program := startRun(t, dir, "echo changed >package.json; rm -f pnpm-lock.yaml; echo 1 >pnpm-workspace.yaml; exec sleep 1000")
		require.Eventually(t, func() bool { _, err := os.Stat(filepath.Join(dir, "pnpm-workspace.yaml")); return err == nil }, 10*time.Second, time.Millisecond)
		end(manager)
		require.NoError(t, syscall.Kill(program, syscall.SIGKILL))
		untilNone(t, dir)

		killed := crash(t, dir, n, "true")
		untilNone(t, dir)
		_, err := shell(t, dir, "")
		require.NoError(t, err, "step %d", n)
		require.Equal(t, was, contents(t, dir), "step %d", n)
		settled(t, dir)
		if !killed {
			t.Logf("%d steps", n-1)
			return
		}
	}
}

// A step that fails, before or after it had its effect: the error says so, and the next run finds everything in order.
func TestEachStepFails(t *testing.T) {
	for _, after := range []bool{false, true} {
		for _, exit := range []string{"0", "1"} {
			t.Run(fmt.Sprintf("after=%v exit %s", after, exit), func(t *testing.T) {
				for n := 1; ; n++ {
					dir := profile(t)
					at, failed := 0, ""
					s := stepped{on: func(step string, done bool) error {
						if done != after {
							return nil
						}
						if at++; at == n {
							failed = step
							return syscall.EIO
						}
						return nil
					}}
					_, err := run(context.Background(), s, newActive(), dir, newOptions([]Option{Program("sh")}), []string{"-c", recordedProgram + exit})
					if err != nil {
						require.ErrorIs(t, err, syscall.EIO, "step %d, %s", n, failed)
					}
					started, _ := os.ReadFile(filepath.Join(dir, "started"))
					require.Contains(t, []string{"", "recorded\n"}, string(started), "step %d, %s", n, failed)
					untilNone(t, dir)
					now := contents(t, dir)[manifest]
					r, err := shell(t, dir, "cat package.json")
					require.NoError(t, err, "step %d, %s", n, failed)
					if len(started) == 0 || exit == "1" {
						require.Equal(t, "{}\n", string(r.Tail), "step %d, %s: it was %q", n, failed, now)
					}
					settled(t, dir)
					if failed == "" {
						t.Logf("%d steps", n-1)
						return
					}
				}
			})
		}
	}
}
