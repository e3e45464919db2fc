//go:build unix

package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMovedWhileWaiting: the lock that is got at last is that of the file that was moved, not of the one that is there now.
func TestMovedWhileWaiting(t *testing.T) {
	for name, verb := range map[string][]string{
		"edit":                 {"edit", "-v", "--create", "x"},
		"write from a command": {"write", "-v", "--lock"},
		"write from its input": {"write", "-v", "--lock"},
	} {
		t.Run(name, func(t *testing.T) {
			top := t.TempDir()
			in := func(name string) string { return filepath.Join(top, name) }
			require.NoError(t, os.Mkdir(in("d"), 0o755))
			holder := exec.Command("tool", "hold", in("d/plan"), in("ready"), in("enough"))
			require.NoError(t, holder.Start())
			t.Cleanup(func() { _ = holder.Process.Kill(); _ = holder.Wait() })
			require.NoError(t, toolUntil([]string{in("ready")}))

			args := append(verb, in("d/plan"))
			if name != "write from its input" {
				args = append(args, "--", "tool", "make", in("ran"), "x")
			}
			cmd := exec.Command("holdfast", args...)
			cmd.Stdin = strings.NewReader("new")
			stderr, err := cmd.StderrPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
			said := bufio.NewScanner(stderr)
			for said.Scan() && !strings.Contains(said.Text(), "waiting for lock") {
			}
			require.NoError(t, os.Rename(in("d"), in("moved")))
			require.NoError(t, os.Mkdir(in("d"), 0o755))
			require.NoError(t, toolMake([]string{in("enough"), "x"}))
			last := ""
			for said.Scan() {
				last = said.Text()
			}
			assert.Equal(t, "74", how(cmd.Wait()), last)
			assert.Contains(t, last, "try again")
			assert.NoFileExists(t, in("ran"))
			for _, dir := range []string{in("d"), in("moved")} {
				left, err := os.ReadDir(dir)
				require.NoError(t, err)
				assert.Empty(t, left)
			}
		})
	}
}
