//go:build unix

package pluginrun

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/holdfast-go/holdfast/filelock"
)

// shell runs a script of /bin/sh in the profile.
func shell(t testing.TB, dir, script string, opts ...Option) (*Result, error) {
	t.Helper()
	return New(dir, append([]Option{Program("sh")}, opts...)...).Run(context.Background(), "-c", script)
}

func TestEndOfTheProgram(t *testing.T) {
	for _, c := range []struct {
		script, signal string
		code           int
	}{
		{"exit 0", "", 0},
		{"exit 3", "", 3},
		{"kill -9 $$", "SIGKILL", 137},
		{"kill -TERM $$", "SIGTERM", 143},
	} {
		t.Run(c.script, func(t *testing.T) {
			dir := profile(t)
			r, err := shell(t, dir, "echo changed >package.json; "+c.script)
			require.NoError(t, err)
			assert.Equal(t, c.code, r.ExitCode)
			assert.Equal(t, c.signal, r.Signal)
			assert.Positive(t, r.Duration)
			assert.Empty(t, r.Survivors)
			if c.code == 0 {
				assert.Equal(t, "changed\n", read(t, filepath.Join(dir, manifest)))
				assert.Empty(t, r.Restored)
			} else {
				assert.Equal(t, "{}\n", read(t, filepath.Join(dir, manifest)))
				assert.Equal(t, []string{manifest}, r.Restored)
			}
			settled(t, dir)
		})
	}
}

// What the files are before a run that fails, they are afterwards: content, mode, link, absence.
func TestRestored(t *testing.T) {
	for _, c := range []struct {
		name, before, script string
		changed              []string
	}{
		{"nothing was changed", "", "", nil},
		{"content", "", "echo 1 >package.json", []string{"package.json"}},
		{"written again as it was", "", "cat package.json >x; mv x package.json", nil},
		{"mode", "chmod 600 package.json", "chmod 644 package.json", []string{"package.json"}},
		{"removed", "", "rm package.json", []string{"package.json"}},
		{"made", "", "touch pnpm-lock.yaml package-lock.json pnpm-workspace.yaml", []string{"pnpm-lock.yaml", "package-lock.json", "pnpm-workspace.yaml"}},
		{"missing from the start", "rm package.json", "", nil},
		{"missing, then made", "rm package.json", "echo {} >package.json", []string{"package.json"}},
		{"a link, written through", "mv package.json real; ln -s real package.json", "echo 1 >package.json", []string{"package.json"}},
		{"a link, replaced", "mv package.json real; ln -s real package.json", "echo 1 >x; mv x package.json", []string{"package.json"}},
		{"an empty file", "touch pnpm-lock.yaml", "echo 1 >pnpm-lock.yaml", []string{"pnpm-lock.yaml"}},
		{"read-only", "chmod 444 package.json", "rm -f package.json; echo 1 >package.json", []string{"package.json"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := profile(t)
			_, err := shell(t, dir, c.before)
			require.NoError(t, err)
			was := contents(t, dir)
			r, err := shell(t, dir, c.script+"\nexit 1")
			require.NoError(t, err)
			assert.Equal(t, c.changed, r.Restored)
			assert.Equal(t, was, contents(t, dir))
			settled(t, dir)
		})
	}
}

// contents are the files of restored with mode and content, read through links.
func contents(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, name := range restored {
		info, err := os.Stat(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		require.NoError(t, err)
		all[name] = fmt.Sprintf("%v %s", info.Mode(), read(t, filepath.Join(dir, name)))
	}
	return all
}

func TestLinkIsKept(t *testing.T) {
	dir := profile(t)
	_, err := shell(t, dir, "mv package.json real; ln -s real package.json")
	require.NoError(t, err)
	_, err = shell(t, dir, "echo 1 >package.json; exit 1")
	require.NoError(t, err)
	to, err := os.Readlink(filepath.Join(dir, manifest))
	require.NoError(t, err)
	assert.Equal(t, "real", to)
	assert.Equal(t, "{}\n", read(t, filepath.Join(dir, "real")))
}

// A link is restored with the directory that it was in.
func TestLinkInARemovedDirectory(t *testing.T) {
	dir := profile(t)
	_, err := shell(t, dir, "mkdir sub; ln -s ../package.json sub/x")
	require.NoError(t, err)
	r, err := shell(t, dir, "rm -r sub; exit 3", Restore("sub/x"))
	require.NoError(t, err)
	assert.Equal(t, []string{"sub/x"}, r.Restored)
	to, err := os.Readlink(filepath.Join(dir, "sub", "x"))
	require.NoError(t, err)
	assert.Equal(t, "../package.json", to)
	settled(t, dir)
}

// A manager is killed, and another one restores: a link still leads where it did, also to a name that is not UTF-8.
func TestLinkIsKeptByTheNextRun(t *testing.T) {
	dir := profile(t)
	const real = "real\xff"
	if err := os.Rename(filepath.Join(dir, manifest), filepath.Join(dir, real)); err != nil {
		t.Skipf("no such names here: %v", err)
	}
	require.NoError(t, os.Symlink(real, filepath.Join(dir, manifest)))
	manager, program := startRun(t, dir, "exec sleep 1000")
	end(manager)
	require.NoError(t, syscall.Kill(program, syscall.SIGKILL))
	untilNone(t, dir)
	_, err := shell(t, dir, "")
	require.NoError(t, err)
	to, err := os.Readlink(filepath.Join(dir, manifest))
	require.NoError(t, err)
	assert.Equal(t, real, to)
	assert.Equal(t, "{}\n", read(t, filepath.Join(dir, real)))
}

func TestFilesThatCannotBeCopied(t *testing.T) {
	dir := profile(t)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "pnpm-lock.yaml"), 0o700))
	_, err := shell(t, dir, "touch ran")
	var failed *Error
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, filepath.Join(dir, "pnpm-lock.yaml"), failed.Path)
	assert.NoFileExists(t, filepath.Join(dir, "ran"))
	settled(t, dir)

	_, err = shell(t, dir, "", Restore("../package.json"))
	require.ErrorIs(t, err, errNotLocal)
}

func TestFilesToRestore(t *testing.T) {
	dir := profile(t)
	r, err := shell(t, dir, "echo 1 >package.json; echo 1 >other; exit 1", Restore("other"))
	require.NoError(t, err)
	assert.Equal(t, []string{"other"}, r.Restored)
	assert.NoFileExists(t, filepath.Join(dir, "other"))
	assert.Equal(t, "1\n", read(t, filepath.Join(dir, manifest)))
}

func init() {
	children["group"] = func([]string) error {
		record, err := os.ReadFile(place{"."}.record())
		fmt.Printf("%d %d %s", os.Getpid(), unix.Getpgrp(), record)
		return err
	}
}

// A captured run leads its own group, and is recorded so.
func TestGroupOfACapturedRun(t *testing.T) {
	r, err := New(profile(t), Program(os.Args[0]), Env(append(os.Environ(), childEnv+"=group"))).Run(context.Background())
	require.NoError(t, err)
	words := strings.Fields(string(r.Tail))
	require.Len(t, words, 3, "%s", r.Tail)
	assert.Equal(t, words[0], words[1])
	assert.Equal(t, `{"pid":`+words[0]+`,"grouped":true}`, words[2])
}

// Whatever is in the environment arrives byte for byte.
func TestEnvironment(t *testing.T) {
	env := []string{
		"PATH=" + os.Getenv("PATH"), "npm_config_//host/:_authToken=s e c", "A-B=1", "LINES=one\ntwo", "EMPTY=", "BYTES=\xff\xfe", "SHLVL=7",
		"CI=false", Variable + "=outer",
	}
	dir := profile(t)
	r, err := New(dir, Program("cat"), Env(env)).Run(context.Background(), "/proc/self/environ")
	require.NoError(t, err)
	if r.ExitCode != 0 {
		t.Skip("needs /proc")
	}
	got := strings.Split(strings.TrimSuffix(string(r.Tail), "\x00"), "\x00")
	require.Len(t, got, len(env))
	assert.Equal(t, append(slices.Clone(env[:len(env)-2]), "CI=1"), got[:len(got)-1])
	assert.Regexp(t, "^"+Variable+"=outer [0-9a-f]+-[0-9a-f]+-[0-9a-f]{16}$", got[len(got)-1])
}

func TestOutput(t *testing.T) {
	dir := profile(t)
	var stdout, stderr bytes.Buffer
	r, err := shell(t, dir, "printf 12345678; printf abc >&2", Output(&stdout, &stderr), Tail(4))
	require.NoError(t, err)
	assert.Equal(t, "12345678", stdout.String())
	assert.Equal(t, "abc", stderr.String())
	assert.Len(t, r.Tail, 4)
	assert.True(t, r.TailCut)
	assert.False(t, r.OutputCut)
	assert.Len(t, read(t, r.Log), 11)
	info, err := os.Stat(r.Log)
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o600), info.Mode())

	r, err = shell(t, dir, "printf 1234", Tail(4))
	require.NoError(t, err)
	assert.Equal(t, "1234", string(r.Tail))
	assert.False(t, r.TailCut)
}

// A writer that fails gets nothing more; log and run are not concerned.
func TestOutputThatFails(t *testing.T) {
	r, err := shell(t, profile(t), "echo 1; echo 2 >&2; exit 5", Output(failing{}, failing{}))
	require.NoError(t, err)
	assert.Equal(t, 5, r.ExitCode)
	assert.Len(t, r.Tail, 4)
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("closed") }

func TestTail(t *testing.T) {
	var all []byte
	keep := tail{size: 10}
	for n := range 40 {
		p := bytes.Repeat([]byte{byte('a' + n%26)}, n%13)
		keep.add(p)
		all = append(all, p...)
		want := all[max(0, len(all)-10):]
		require.Equal(t, string(want), string(keep.last()))
		require.Equal(t, len(all) > 10, keep.cut)
	}
	none := tail{}
	none.add([]byte("a"))
	assert.Empty(t, none.last())
	assert.True(t, none.cut)
}

// The last logs are kept, and what is no log of ours.
func TestOldLogs(t *testing.T) {
	dir := profile(t)
	logs := place{dir}.logs()
	require.NoError(t, os.MkdirAll(logs, 0o700))
	write(t, filepath.Join(logs, "notes.log"), "")
	for n := range mostLogs + 2 {
		write(t, filepath.Join(logs, fmt.Sprintf("20260101T0000%02d.000Z-aaaaaa.log", n)), "")
	}
	r, err := shell(t, dir, "")
	require.NoError(t, err)
	names, err := osSystem{}.list(logs)
	require.NoError(t, err)
	slices.Sort(names)
	require.Len(t, names, mostLogs+1)
	assert.Equal(t, "20260101T000003.000Z-aaaaaa.log", names[0])
	assert.Equal(t, []string{filepath.Base(r.Log), "notes.log"}, names[mostLogs-1:])
}

func TestProgramsThatCannotRun(t *testing.T) {
	dir := profile(t)
	bin := t.TempDir()
	script := func(name, content string, mode fs.FileMode) string {
		path := filepath.Join(bin, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
		require.NoError(t, os.Chmod(path, mode))
		return path
	}
	plain := script("plain", "#!/bin/sh\n", 0o644)
	lost := script("lost", "#!/does/not/exist\n", 0o755)
	for _, c := range []struct {
		program string
		missing bool
	}{
		{"no-such-program", true}, {"", true}, {"./no/such/file", true}, {lost, true}, {plain, false}, {"plain", false}, {bin, false},
	} {
		r, err := New(dir, Program(c.program), Env([]string{"PATH=" + bin})).Run(context.Background())
		assert.Nil(t, r)
		var missing *NotFoundError
		if assert.Error(t, err, "%q", c.program); c.missing {
			assert.ErrorAs(t, err, &missing, "%q", c.program)
			assert.Equal(t, c.program == lost, missing.Path == lost, "%q: %v", c.program, err)
		} else {
			assert.ErrorAs(t, err, new(*StartError), "%q", c.program)
		}
		settled(t, dir)
	}
	logs, err := osSystem{}.list(place{dir}.logs())
	require.NoError(t, err)
	assert.Empty(t, logs)

	// what a shell runs, though the kernel does not
	script("bare", "echo \"$0 $*\"\n", 0o755)
	r, err := New(dir, Program("bare"), Env([]string{"PATH=" + bin})).Run(context.Background(), "a", "b c")
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(bin, "bare")+" a b c\n", string(r.Tail))

	// what is found by where we happen to be is not run
	_, err = New(dir, Program("bare"), Env([]string{"PATH=."})).Run(context.Background())
	assert.ErrorAs(t, err, new(*NotFoundError))
}

func TestLockIsHeldByAnother(t *testing.T) {
	dir := profile(t)
	l, err := filelock.Acquire(context.Background(), filepath.Join(dir, manifest))
	require.NoError(t, err)
	defer l.Release()
	_, err = shell(t, dir, "touch ran", LockWait(0))
	require.ErrorIs(t, err, filelock.ErrHeld)
	assert.NoFileExists(t, filepath.Join(dir, "ran"))
}

// A run that is attached shares its starter's group and streams, and is recorded so.
func TestAttached(t *testing.T) {
	dir := profile(t)
	out, err := command("attached", dir).Output()
	require.NoError(t, err)
	words := strings.Fields(string(out))
	require.Len(t, words, 4, "%s", out)
	assert.Equal(t, words[0], words[2], "the group")
	assert.Equal(t, `{"pid":`+words[1]+`,"grouped":false}`, words[3])
	settled(t, dir)
}

func init() {
	children["attached"] = func(args []string) error {
		fmt.Println(unix.Getpgrp())
		os.Setenv(childEnv, "group")
		_, err := New(args[0], Program(os.Args[0]), Attached()).Run(context.Background())
		return err
	}
}
