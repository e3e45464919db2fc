package pluginrun

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A real manager is cancelled at any moment: nothing of it is left, its files are as before, and a later run succeeds.
func TestCancelledInstall(t *testing.T) {
	eachManager(t, func(t *testing.T, m manager) {
		one, two := m.pkg("one"), m.pkg("two")
		fresh := func() (dir string) {
			dir = m.profile("[ ! -e tick ] || exec " + m.ticker() + "\n")
			_, err := m.runner(dir).Run(context.Background(), m.add(one)...)
			require.NoError(t, err)
			require.Equal(t, []string{"one"}, dependencies(t, dir))
			require.NoError(t, os.Chmod(filepath.Join(dir, manifest), 0o640))
			require.NoError(t, os.Chmod(filepath.Join(dir, m.lockfile()), 0o600))
			return dir
		}
		succeeds := func(dir string) time.Duration {
			r, err := m.runner(dir).Run(context.Background(), m.add(two)...)
			require.NoError(t, err)
			require.Zero(t, r.ExitCode, "%s", r.Tail)
			require.Equal(t, []string{"one", "two"}, dependencies(t, dir))
			return r.Duration
		}
		usual := succeeds(fresh())

		outcomes := map[string]int{}
		var slowest time.Duration
		dir := fresh()
		before := contents(t, dir)
		for n := range patience(50, 5) {
			args, latest := m.add(two), usual
			ticks := n%2 == 1 // with a script that goes on, and has spoiled something
			if ticks {
				args, latest = []string{"install"}, 3*usual
				write(t, filepath.Join(dir, "tick"), "")
			}
			killAfter := longest
			if n%4 == 3 { // at once, so that it cannot end its scripts itself
				killAfter = 0
			}
			ctx, cancel := context.WithCancel(context.Background())
			var at time.Time
			timer := time.AfterFunc(rand.N(latest), func() { // the moment is the subject
				at = time.Now()
				cancel()
			})
			r, err := m.runner(dir, KillAfter(killAfter)).Run(ctx, args...)
			timer.Stop()
			cancel()
			require.Empty(t, m.processes())
			nothingLeft(t, dir)
			if err == nil {
				require.False(t, ticks)
				require.Zero(t, r.ExitCode, "%s", r.Tail)
				outcomes["done before"]++
				usual = r.Duration
				dir = fresh()
				before = contents(t, dir)
				continue
			}
			slowest = max(slowest, time.Since(at))
			var cancelled *CancelledError
			require.ErrorAs(t, err, &cancelled)
			require.ErrorIs(t, err, context.Canceled)
			require.Equal(t, before, contents(t, dir))
			require.NoError(t, os.RemoveAll(filepath.Join(dir, "tick")))
			switch {
			case r == nil:
				outcomes["before the start"]++
			case len(r.Restored) > 0:
				outcomes["restored"]++
			default:
				outcomes["unchanged"]++
			}
		}
		succeeds(dir)
		t.Logf("usually %v, ended within %v: %v", usual, slowest, outcomes)
		assert.Less(t, slowest, longest, "it did not end when it was asked to")
	})
}
