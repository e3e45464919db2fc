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

// unprivileged returns a directory that a user without privileges owns, and how that user runs the command there.
func unprivileged(t *testing.T) (dir string, run func(args ...string) (said, end string)) {
	t.Helper()
	place, err := os.MkdirTemp("", "holdfast")
	require.NoError(t, err)
	binary, dir := filepath.Join(place, "holdfast"), filepath.Join(place, "dir")
	t.Cleanup(func() {
		_ = os.Chmod(dir, 0o755)
		os.RemoveAll(place)
	})
	require.NoError(t, os.Chmod(place, 0o755))
	self, err := os.ReadFile(must(os.Executable()))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(binary, self, 0o755))
	require.NoError(t, os.Mkdir(dir, 0o755))
	var as *syscall.SysProcAttr
	if os.Geteuid() == 0 {
		const nobody = 65534
		require.NoError(t, os.Chown(dir, nobody, nobody))
		as = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	return dir, func(args ...string) (said, end string) {
		cmd := exec.Command(binary, args...)
		cmd.Dir, cmd.SysProcAttr = dir, as
		out, err := cmd.CombinedOutput()
		return string(out), how(err)
	}
}

// TestNotPermitted: in a directory that is not to be written, every verb ends by 77 in one line, and CMD does not run.
func TestNotPermitted(t *testing.T) {
	dir, run := unprivileged(t)
	file := filepath.Join(dir, "plan")
	require.NoError(t, os.WriteFile(file, []byte("old\n"), 0o644))
	require.NoError(t, os.Chmod(dir, 0o555))
	for _, args := range [][]string{
		{"write", file, "--", "/bin/sh", "-c", "echo ran >&2; echo x"},
		{"write", "--lock", file, "--", "/bin/sh", "-c", "echo ran >&2; echo x"},
		{"edit", file, "--", "/bin/sh", "-c", "echo ran >&2; echo x"},
		{"lock", file, "--", "/bin/sh", "-c", "echo ran >&2"},
	} {
		said, end := run(args...)
		assert.Equal(t, "77", end, "%q: %s", args, said)
		assert.Equal(t, 1, strings.Count(said, "\n"), "%q: %s", args, said)
		assert.Contains(t, said, "permission denied")
	}
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, "old\n", string(text))
}

// TestLockNotReleased: a lock that cannot be removed is reported, but does not hide how CMD ended.
func TestLockNotReleased(t *testing.T) {
	for code, want := range map[string]string{"0": "77", "3": "3"} {
		dir, run := unprivileged(t)
		said, end := run("lock", filepath.Join(dir, "plan"), "--", "/bin/sh", "-c", "chmod 555 .; exit "+code)
		assert.Equal(t, want, end, said)
		assert.Equal(t, 1, strings.Count(said, "\n"), said)
		assert.Regexp(t, `^holdfast: .*plan\.lock: cannot .*permission denied\n$`, said)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
