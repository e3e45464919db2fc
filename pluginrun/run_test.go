package pluginrun

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// These run on every system: the program is this test binary.

func init() { children["program"] = childProgram }

// childProgram CODE: prints its number, the record and what it has to read, changes the files and ends with CODE.
func childProgram(args []string) error {
	code, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	record, err := os.ReadFile(place{"."}.record())
	if err != nil {
		return err
	}
	input, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	fmt.Printf("%d|%s|%s|%s\n", os.Getpid(), bytes.TrimSpace(record), input, os.Getenv("CI"))
	fmt.Fprintln(os.Stderr, "on standard error")
	for _, name := range []string{manifest, "pnpm-lock.yaml"} {
		if err := os.WriteFile(name, []byte("changed\n"), 0o644); err != nil {
			return err
		}
	}
	os.Exit(code)
	return nil
}

// program runs childProgram.
func program(t testing.TB, dir string, code int, opts ...Option) (*Result, error) {
	t.Helper()
	opts = append([]Option{Program(os.Args[0]), Env(append(os.Environ(), childEnv+"=program"))}, opts...)
	return New(dir, opts...).Run(context.Background(), strconv.Itoa(code))
}

func TestRun(t *testing.T) {
	for _, code := range []int{0, 7} {
		dir := profile(t)
		var stdout, stderr bytes.Buffer
		started := 0
		r, err := program(t, dir, code, Output(&stdout, &stderr), OnStart(func(pid int) { started = pid }))
		require.NoError(t, err)
		assert.Equal(t, code, r.ExitCode)
		assert.Equal(t, fmt.Sprintf("%d|{\"pid\":%d,\"grouped\":true}||1\n", started, started), strings.ReplaceAll(stdout.String(), "\r", ""))
		assert.Equal(t, "on standard error\n", strings.ReplaceAll(stderr.String(), "\r", ""))
		assert.Len(t, read(t, r.Log), stdout.Len()+stderr.Len())
		if code == 0 {
			assert.Equal(t, "changed\n", read(t, filepath.Join(dir, manifest)))
		} else {
			assert.Equal(t, []string{manifest, "pnpm-lock.yaml"}, r.Restored)
			assert.Equal(t, "{}\n", read(t, filepath.Join(dir, manifest)))
			assert.NoFileExists(t, filepath.Join(dir, "pnpm-lock.yaml"))
		}
		settled(t, dir)
	}
}

func TestNoSuchProgram(t *testing.T) {
	dir := profile(t)
	_, err := program(t, dir, 0, Program("no-such-program"))
	var missing *NotFoundError
	require.ErrorAs(t, err, &missing)
	assert.Equal(t, "no-such-program", missing.Program)
	settled(t, dir)
}

// A record that names a live process is waited for and refused; one of a process that has ended is followed.
func TestRecordOnEverySystem(t *testing.T) {
	dir := profile(t)
	other := command("idle")
	in, err := other.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, other.Start())
	recordOf(t, dir, other.Process.Pid, false)
	_, err = program(t, dir, 0, LeftoverWait(0))
	var active *ActiveError
	if assert.ErrorAs(t, err, &active) {
		assert.EqualValues(t, other.Process.Pid, active.PID)
	}
	require.NoError(t, in.Close())
	require.NoError(t, other.Wait())
	r, err := program(t, dir, 0, LeftoverWait(0))
	require.NoError(t, err)
	assert.NotNil(t, r.Leftover)
	settled(t, dir)
}

func init() {
	children["idle"] = func([]string) error { _, err := io.Copy(io.Discard, os.Stdin); return err }
}
