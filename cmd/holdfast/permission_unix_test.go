//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestNotPermitted: in a directory that is not ours to write, every verb ends by 77 in one line, and CMD does not run.
func TestNotPermitted(t *testing.T) {
	dir, err := os.MkdirTemp("", "holdfast")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	binary := filepath.Join(dir, "holdfast")
	self, err := os.ReadFile(must(os.Executable()))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(binary, self, 0o755))
	file := filepath.Join(dir, "closed", "plan")
	require.NoError(t, os.Mkdir(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte("old\n"), 0o644))
	require.NoError(t, os.Chmod(filepath.Dir(file), 0o555))
	require.NoError(t, os.Chmod(dir, 0o755))

	for _, args := range [][]string{
		{"write", file, "--", "/bin/sh", "-c", "echo ran >&2; echo x"},
		{"write", "--lock", file, "--", "/bin/sh", "-c", "echo ran >&2; echo x"},
		{"edit", file, "--", "/bin/sh", "-c", "echo ran >&2; echo x"},
		{"lock", file, "--", "/bin/sh", "-c", "echo ran >&2"},
	} {
		cmd := exec.Command(binary, args...)
		cmd.Dir = dir
		if os.Geteuid() == 0 {
			const nobody = 65534
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		}
		said, err := cmd.CombinedOutput()
		assert.Equal(t, "77", how(err), "%q: %s", args, said)
		assert.Equal(t, 1, strings.Count(string(said), "\n"), "%q: %s", args, said)
		assert.Contains(t, string(said), "permission denied")
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, "old\n", string(text))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
