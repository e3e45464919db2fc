//go:build unix || windows

package child

import (
	"encoding/gob"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/sys"
)

func TestChildKeepsItsNumber(t *testing.T) {
	eachGate(t, func(t *testing.T) {
		files, out := streams(t)
		s := program(t, files, "program:report", "two words", `"quoted" 'both'`, "", `a\`, "$HOME `x` * ?", "-n")
		s.Dir = t.TempDir()
		c := start(t, s)
		before := c.PID()
		assert.Equal(t, sys.Present, sys.Probe(before).Presence)
		require.NoError(t, c.Open())
		var r report
		require.NoError(t, gob.NewDecoder(out.lines).Decode(&r))
		assert.Equal(t, before, r.PID)
		assert.Equal(t, before, c.PID())
		assert.Equal(t, s.Args, r.Args)
		want, err := os.Stat(s.Dir)
		require.NoError(t, err)
		dir, err := os.Stat(r.Dir)
		require.NoError(t, err)
		assert.True(t, os.SameFile(want, dir), r.Dir)
		_, err = c.Reap()
		require.NoError(t, err)
		assert.Equal(t, before, c.PID())
	})
}

func TestProgramDoesNotRunBeforeOpen(t *testing.T) {
	eachGate(t, func(t *testing.T) {
		files, out := streams(t)
		waiting := start(t, program(t, files, "program:say", "ran"))

		// meanwhile another one is started, runs and ends
		others, other := streams(t)
		c := start(t, program(t, others, "program:say", "other"))
		require.NoError(t, c.Open())
		assert.Equal(t, "other", other.rest())

		waiting.Abandon()
		assert.Empty(t, out.rest())
		assertReaped(t, waiting.PID())
		waiting.Close() // once more is no harm
	})
}

func TestStarterKilledBeforeOpen(t *testing.T) {
	for _, gate := range gates() {
		t.Run(filepath.Base(gate), func(t *testing.T) {
			files, out := streams(t)
			starter := exec.Command(self(t), "program:start", gate, self(t))
			starter.Stdin, starter.Stdout, starter.Stderr = files[0], files[1], files[2]
			require.NoError(t, starter.Start())
			files[1].Close()
			stub := out.pid()
			t.Cleanup(func() { reapOrphan(stub) })
			assert.Equal(t, sys.Present, sys.Probe(stub).Presence)
			require.NoError(t, starter.Process.Kill())
			starter.Wait()
			assert.Empty(t, out.rest(), "the stub ends, the program never runs")
		})
	}
}

func TestWaitLeavesUnreaped(t *testing.T) {
	eachGate(t, func(t *testing.T) {
		files, _ := streams(t)
		c := start(t, program(t, files, "program:exit", "7"))
		require.NoError(t, c.Open())
		require.NoError(t, c.Wait())
		assert.Equal(t, sys.Exited, sys.Probe(c.PID()).Presence)
		require.NoError(t, c.Wait(), "as often as wanted")
		end, err := c.Reap()
		require.NoError(t, err)
		assert.Equal(t, 7, end.ExitCode())
		assertReaped(t, c.PID())
	})
}

func TestKilledBeforeOpen(t *testing.T) {
	eachGate(t, func(t *testing.T) {
		files, out := streams(t)
		c := start(t, program(t, files, "program:say", "ran"))
		require.NoError(t, c.Process().Kill())
		require.NoError(t, c.Wait())
		if runtime.GOOS != "windows" { // where nothing tells
			require.Error(t, c.Open())
		}
		c.Abandon()
		assert.Empty(t, out.rest())
		assertReaped(t, c.PID())
	})
}

func TestClosedChildGoesOn(t *testing.T) {
	eachGate(t, func(t *testing.T) {
		files, out := streams(t)
		c := start(t, program(t, files, "program:block"))
		require.NoError(t, c.Open())
		pid := out.pid()
		c.Close()
		c.Close()
		assert.Equal(t, sys.Present, sys.Probe(pid).Presence)
		out.input.Close()
		end, err := c.Reap()
		require.NoError(t, err)
		assert.True(t, end.Success(), end.String())
	})
}

func TestMissingDirectory(t *testing.T) {
	eachGate(t, func(t *testing.T) {
		files, _ := streams(t)
		s := program(t, files, "program:say")
		s.Dir = filepath.Join(t.TempDir(), "missing")
		_, err := Start(s)
		require.ErrorIs(t, err, fs.ErrNotExist)
		var at *fs.PathError
		require.ErrorAs(t, err, &at)
		assert.Equal(t, s.Dir, at.Path)
	})
}

func assertReaped(t *testing.T, pid int) {
	t.Helper()
	p := sys.Probe(pid).Presence
	if runtime.GOOS == "windows" && p == sys.Exited {
		return // somebody else may have a handle
	}
	assert.Equal(t, sys.Absent, p)
}
