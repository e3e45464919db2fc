package filelock

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/sys"
)

// childStep FILE FORM N: acquires and releases, and kills itself as kill -9 does at its Nth step: odd numbers before the
// effect of a step, even ones after it. N may be "end": directly before it ends a dead holder's lock. Exits 0 when there
// are fewer steps.
func childStep(args []string) error {
	path := args[0]
	f, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	last, _ := strconv.Atoi(args[2])
	ending := args[2] == "end"
	n := 0
	s := newStepped(func(s step) error {
		if n++; n == last || ending && !s.after && s.lock() && (s.op == "replace" || s.op == "remove") {
			fmt.Println(s.op, s.name)
			self, err := os.FindProcess(os.Getpid())
			if err == nil {
				err = self.Kill()
			}
			if err != nil {
				return err
			}
			select {}
		}
		return refuse(sys.Unsupported, formRefusals[form(f)]...)(s)
	})
	l, err := acquire(context.Background(), s, newProcess(), path, newOptions([]Option{Wait(0)}))
	if err != nil {
		return err
	}
	return l.Release()
}

// killedAt runs childStep and returns the step it died at; done: it did not.
func killedAt(t *testing.T, path string, f form, n string) (at string, done bool) {
	t.Helper()
	cmd := command("step", path, strconv.Itoa(int(f)), n)
	var out, says bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &says
	require.NoError(t, cmd.Start())
	keepNumber(t, cmd.Process.Pid)
	err := cmd.Wait()
	require.Empty(t, says.String(), "%v", err)
	return strings.TrimSpace(out.String()), err == nil
}

// Whatever step of acquiring, taking over or releasing is the last, the next contender gets in without help.
func TestKillAtEveryStep(t *testing.T) {
	t.Parallel()
	dead := record(deadPID(t))
	for f := range forms {
		if f == unnamed && runtime.GOOS != "linux" || f == linked && runtime.GOOS == "windows" {
			continue
		}
		for name, prepare := range map[string]func(path string){
			"free": func(string) {},
			"over a dead holder": func(path string) {
				write(t, path+lockSuffix, dead)
			},
			"over a dead claimant": func(path string) {
				write(t, path+lockSuffix, dead)
				write(t, filepath.Join(filepath.Dir(path), claimName("settings.json.lock", dead)), dead)
			},
		} {
			t.Run(fmt.Sprintf("form %d %s", f, name), func(t *testing.T) {
				kills := 0
				for n := 1; ; n++ {
					path := target(t)
					prepare(path)
					at, done := killedAt(t, path, f, strconv.Itoa(n))
					if done {
						assert.Empty(t, entries(t, path), "nothing went wrong, nothing is left")
						break
					}
					kills++
					left := entries(t, path)
					l, err := try(t, path)
					if err != nil && f == exclusive && isEmptyFile(t, path, left) {
						var held *HeldError
						require.ErrorAs(t, err, &held)
						assert.True(t, held.Stuck())
						assert.Contains(t, err.Error(), "is empty, as a writer leaves it that was killed")
						continue
					}
					require.NoError(t, err, "after a kill at %q, which left %v", at, left)
					require.NoError(t, l.Release())
					claims, temps := 0, 0
					for _, e := range entries(t, path) {
						switch {
						case strings.Contains(e, ".takeover-"):
							claims++
						case strings.HasSuffix(e, ".tmp"):
							temps++
						default:
							t.Errorf("%q was left by a kill at %q", e, at)
						}
					}
					assert.LessOrEqual(t, claims, 1, at)
					if f == unnamed {
						assert.Zero(t, temps, "a kill at %q left a name", at)
					}
					assert.LessOrEqual(t, temps, 1, at)
				}
				assert.Greater(t, kills, 15)
				t.Logf("%d kills", kills)
			})
		}
	}
}

// isEmptyFile reports whether one of the names left is an empty lock or claim.
func isEmptyFile(t *testing.T, path string, names []string) bool {
	t.Helper()
	for _, n := range names {
		info, err := os.Stat(filepath.Join(filepath.Dir(path), n))
		require.NoError(t, err)
		if info.Size() == 0 {
			return true
		}
	}
	return false
}

// One, two or three contenders killed in a row while they take over: their claim is adopted each time.
func TestClaimantsKilledInARow(t *testing.T) {
	for killed := 1; killed <= 3; killed++ {
		path := target(t)
		write(t, path+lockSuffix, record(deadPID(t)))
		for range killed {
			_, done := killedAt(t, path, firstForm(), "end")
			require.False(t, done)
			names := entries(t, path)
			require.Len(t, names, 2, "the lock and one claim")
		}
		l, err := try(t, path)
		require.NoError(t, err)
		require.NoError(t, l.Release())
		assert.Empty(t, entries(t, path))
	}
}

func firstForm() form {
	if runtime.GOOS == "linux" {
		return unnamed
	}
	return moved
}
