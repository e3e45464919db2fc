//go:build unix

package pluginrun

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/sys"
)

// breaking is a log handler that panics at one message.
type breaking struct {
	slog.Handler
	at string
}

func (b breaking) Enabled(context.Context, slog.Level) bool { return true }

func (b breaking) Handle(_ context.Context, r slog.Record) error {
	if r.Message == b.at {
		panic("oops")
	}
	return nil
}

// What a callback's panic, or a log handler's, leaves is a profile in which the next run begins, with nothing running.
func TestPanics(t *testing.T) {
	at := func(message string) Option { return Logger(slog.New(breaking{slog.DiscardHandler, message})) }
	const changing = "echo $$ >pid; echo new >package.json; touch running; "
	for _, c := range []struct {
		name, script string
		opt          Option
		files        bool // the next run restores
	}{
		{"OnLeftover", "", OnLeftover(func(*ActiveError) { panic("oops") }), false},
		{"OnStart", changing + "exec sleep 1000", OnStart(func(int) { panic("oops") }), true},
		{"behind the gate", changing, at("recording the run"), false},
		{"while it runs", changing + "rm package.json.lock; exec sleep 1000", at("ending the run"), true},
		{"afterwards", changing + "rm .plugin-manager/run.json; echo '{}' >.plugin-manager/run.json; exit 3", at("the record is another run's by now, and stays"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := profile(t)
			p := place{dir}
			if c.name == "OnLeftover" {
				require.NoError(t, os.Mkdir(p.own(), 0o700))
				write(t, p.record(), fmt.Sprintf("{\"pid\":%d,\"grouped\":false}\n", os.Getpid()))
			}
			assert.PanicsWithValue(t, "oops", func() { _, _ = shell(t, dir, c.script, c.opt) })
			assert.NoFileExists(t, p.manifest()+".lock")
			var pid int
			if text, err := os.ReadFile(filepath.Join(dir, "pid")); err == nil {
				_, err := fmt.Sscan(string(text), &pid)
				require.NoError(t, err)
				assert.NotEqual(t, sys.Present, sys.Probe(pid).Presence)
			}
			if c.name == "behind the gate" {
				logs, err := osSystem{}.list(p.logs())
				require.NoError(t, err)
				assert.Empty(t, logs)
			} else if !c.files {
				require.NoError(t, os.Remove(p.record()))
			}
			_, err := shell(t, dir, "", LockWait(0))
			require.NoError(t, err)
			assert.Equal(t, "{}\n", read(t, p.manifest()))
			settled(t, dir)
		})
	}
}
