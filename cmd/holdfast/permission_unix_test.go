//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testenv"
)

const nobody = 65534

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

// notOurs makes the directory one in which only its owner removes a file: who runs the command there removes its own only.
func notOurs(t *testing.T, dir string) {
	t.Helper()
	require.NoError(t, os.Chown(dir, 0, 0))
	require.NoError(t, os.Chmod(dir, 0o777|os.ModeSticky))
}

// TestClaimNotRemoved: it stays in the way of Node contenders, so that it is named without -v.
func TestClaimNotRemoved(t *testing.T) {
	testenv.Root(t)
	dir, run := unprivileged(t)
	notOurs(t, dir)
	lock, claim := filepath.Join(dir, "plan.lock"), filepath.Join(dir, "plan.lock.takeover-4225294e0b1c4799")
	for _, file := range []string{lock, claim} {
		require.NoError(t, os.WriteFile(file, []byte("2147483647\n"), 0o644))
	}
	require.NoError(t, os.Chown(lock, nobody, nobody))
	said, end := run("lock", "-n", filepath.Join(dir, "plan"), "--", "true")
	assert.Equal(t, "0", end, said)
	assert.Regexp(t, `^holdfast: claim could not be removed path=\S+plan\.lock\.takeover-4225294e0b1c4799 err="operation not permitted"\n`+
		`holdfast: took over the lock of PID 2147483647, which has exited: \S+plan may be half done\n$`, said)
	assert.FileExists(t, claim)
}

// TestReplacedAndNotReleased: whoever reads that the lock stays has to know that the content is the new one.
func TestReplacedAndNotReleased(t *testing.T) {
	testenv.Root(t)
	for _, verb := range [][]string{{"edit", "--create", "old"}, {"write", "--lock"}} {
		t.Run(verb[0], func(t *testing.T) {
			dir, run := unprivileged(t)
			notOurs(t, dir)
			file, begun := filepath.Join(dir, "plan"), filepath.Join(dir, "begun")
			var others sync.WaitGroup
			others.Go(func() {
				assert.NoError(t, toolUntil([]string{begun}))
				assert.NoError(t, os.Chown(file+".lock", 0, 0))
				assert.NoError(t, toolMake([]string{filepath.Join(dir, "go"), "x"}))
			})
			script := "echo x >begun; while [ ! -e go ]; do sleep 0.01; done; echo new"
			said, end := run(append(verb, file, "--", "/bin/sh", "-c", script)...)
			others.Wait()
			assert.Equal(t, "77", end, said)
			assert.Regexp(t, `^holdfast: \S+plan\.lock: cannot remove the lock at release: operation not permitted; \S+plan had its new content by then\n$`, said)
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			assert.Equal(t, "new\n", string(text))
		})
	}
}

// TestTemporaryFileLeft: a temporary file that cannot be removed is named, however the command ends.
func TestTemporaryFileLeft(t *testing.T) {
	for script, want := range map[string]string{
		"chmod 555 .; echo x; exit 3":                  "3",
		"chmod 555 .":                                  "65",
		"chmod 555 .; kill -TERM $PPID; exec sleep 60": "SIGTERM",
		"chmod 555 .; echo x":                          "77",
	} {
		t.Run(script, func(t *testing.T) {
			dir, run := unprivileged(t)
			said, end := run("write", "plan", "--", "/bin/sh", "-c", script)
			assert.Equal(t, want, end)
			names, err := filepath.Glob(filepath.Join(dir, "plan.*.tmp"))
			require.NoError(t, err)
			require.Len(t, names, 1)
			assert.Contains(t, said, filepath.Base(names[0])+" is left, remove it")
			for line := range strings.Lines(said) {
				assert.True(t, strings.HasPrefix(line, "holdfast: "), line)
			}
			assert.NoFileExists(t, filepath.Join(dir, "plan"))
		})
	}
}

// TestLockLeft: a lock that cannot be removed is named, however the command ends.
func TestLockLeft(t *testing.T) {
	for script, want := range map[string]string{
		"chmod 555 .; exit 3": "3",
		"chmod 555 .":         "65",
		"chmod 555 .; kill -TERM $PPID; exec sleep 60": "SIGTERM",
		"chmod 555 .; echo x":                          "77",
	} {
		for _, verb := range []string{"edit", "write --lock"} {
			t.Run(verb+" "+script, func(t *testing.T) {
				dir, run := unprivileged(t)
				plan := filepath.Join(dir, "plan")
				require.NoError(t, os.WriteFile(plan, []byte("old\n"), 0o644))
				said, end := run(append(strings.Fields(verb), "plan", "--", "/bin/sh", "-c", script)...)
				assert.Equal(t, want, end)
				assert.FileExists(t, plan+".lock")
				assert.Equal(t, 1, strings.Count(said, "plan.lock: cannot remove the lock at release"), said)
				for line := range strings.Lines(said) {
					assert.True(t, strings.HasPrefix(line, "holdfast: "), line)
				}
				content, err := os.ReadFile(plan)
				require.NoError(t, err)
				assert.Equal(t, "old\n", string(content))
			})
		}
	}
}
