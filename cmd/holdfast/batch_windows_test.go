package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestBatchFile: the arguments of a batch file arrive as they are, whichever verb runs it.
func TestBatchFile(t *testing.T) {
	for _, verb := range [][]string{{"lock"}, {"edit", "--create", "x"}, {"write"}, {"write", "--lock"}} {
		dir := t.TempDir()
		file, shim := filepath.Join(dir, "plan"), filepath.Join(dir, "a shim.cmd")
		require.NoError(t, os.WriteFile(shim, []byte("@echo off\r\ntool print %*\r\n"), 0o700))
		args := append(append([]string{}, verb...), file, "--", shim, "a&echo b", "two words", "^")
		out, err := exec.Command("holdfast", args...).Output()
		require.NoError(t, err, verb)
		if verb[0] != "lock" {
			out, err = os.ReadFile(file)
			require.NoError(t, err)
		}
		assert.Equal(t, "a&echo b\ntwo words\n^\n", string(out), verb)
	}
}
