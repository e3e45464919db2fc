package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// profileDir is a profile whose manifest can be told from a changed one.
func profileDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, toolMake([]string{filepath.Join(dir, "package.json"), "old"}))
	return dir
}

// assertUndone checks that the files are as before and nothing of a run is left.
func assertUndone(t *testing.T, dir string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "package.json"))
	require.NoError(t, err)
	assert.Equal(t, "old\n", string(text))
	assert.NoFileExists(t, filepath.Join(dir, ".plugin-manager", "run.json"))
	assert.NoFileExists(t, filepath.Join(dir, "package.json.lock"))
}

const endless = "echo new >package.json; exec yes"

// TestRunWhoseOutputNobodyReads: a signal ends it in time, and so does CMD's own end.
func TestRunWhoseOutputNobodyReads(t *testing.T) {
	for name, c := range map[string]struct{ script, end, said string }{
		"asked to end": {endless, "SIGTERM", `^holdfast: its output was not all passed on: the reader did not take it in time; all of it is in \S+\.log\n` +
			`holdfast: \S+: sh \(PID \d+\) was ended before it was done: ended by signal: terminated; its files are as before\n$`},
		"CMD succeeds": {"head -c 100000 /dev/zero", "74", `^holdfast: sh has succeeded, and what it did stays; but its output was not all passed on: the reader did not take it in time; all of it is in \S+\.log\n$`},
		"CMD fails": {"head -c 100000 /dev/zero; echo new >package.json; exit 3", "3", `^holdfast: its output was not all passed on: .*\n` +
			`holdfast: sh failed with exit code 3; restored package.json in .*\n$`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := profileDir(t)
			r, w, err := os.Pipe()
			require.NoError(t, err)
			defer r.Close()
			var said bytes.Buffer
			cmd := exec.Command("holdfast", "run", "--captured", "--kill-after", "100ms", dir, "--", "sh", "-c", c.script)
			cmd.Stdout, cmd.Stderr = w, &said
			require.NoError(t, cmd.Start())
			w.Close()
			if c.script == endless {
				require.NoError(t, eventually(func() (string, bool) {
					n, err := unix.IoctlGetInt(int(r.Fd()), unix.TIOCINQ)
					return fmt.Sprint(n, err), n >= 1<<16
				}))
				require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
			}
			assert.Equal(t, c.end, how(cmd.Wait()), said.String())
			assert.Regexp(t, c.said, said.String())
			assertUndone(t, dir)
		})
	}
}

// TestRunOnAHeldTerminal: Ctrl-S keeps neither CMD's output nor our own messages from letting the run end.
func TestRunOnAHeldTerminal(t *testing.T) {
	dir := profileDir(t)
	c := onTerminal(t, 80, "holdfast", "run", "--captured", "-v", "--kill-after", "100ms", dir, "--", "sh", "-c", endless)
	c.untilShown(`y\r\ny\r\n`)
	c.press("\x13")
	require.NoError(t, c.cmd.Process.Signal(syscall.SIGTERM))
	assert.Equal(t, "SIGTERM", c.ends())
	assertUndone(t, dir)
}

// TestWarningsOfARun: they are said without -v, and what they say is said once.
func TestWarningsOfARun(t *testing.T) {
	dir := profileDir(t)
	for n := range 20 {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, ".plugin-manager", "logs", fmt.Sprintf("20260101T0000%02d.000Z-a.log", n)), 0o700))
	}
	require.NoError(t, exec.Command("tool", "dead", filepath.Join(dir, "package.json")).Run())
	out, err := exec.Command("holdfast", "run", "--captured", dir, "--", "true").CombinedOutput()
	require.NoError(t, err)
	assert.Regexp(t, `^holdfast: took over the lock of .*\nholdfast: an old log could not be removed path=\S+\.log err=.*\n$`, string(out))
}
