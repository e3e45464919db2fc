package filelock

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/sys"
	"github.com/holdfast-go/holdfast/internal/testenv"
)

// children are what this test binary does when it is started again as another process.
var children = map[string]func(args []string) error{
	"hold":   childHold,
	"step":   childStep,
	"count":  childCount,
	"idle":   childIdle,
	"round":  childRounds,
	"parent": childParent,
}

const childEnv = "HOLDFAST_TEST_CHILD"

func TestMain(m *testing.M) {
	what := os.Getenv(childEnv)
	if what == "" {
		os.Exit(testenv.Run(m))
	}
	if err := children[what](os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// child is a process of ours that the test talks to through its standard streams.
type child struct {
	t   testing.TB
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func command(what string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), childEnv+"="+what)
	return cmd
}

// start runs cmd until the test ends at the latest.
func start(t testing.TB, cmd *exec.Cmd) *child {
	t.Helper()
	c := &child{t: t, cmd: cmd}
	var err error
	c.in, err = cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	c.out = bufio.NewReader(out)
	if cmd.Stderr == nil {
		cmd.Stderr = os.Stderr
	}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		c.cmd.Process.Kill()
		c.cmd.Wait()
	})
	return c
}

// line waits for the next line that the child prints.
func (c *child) line() string {
	c.t.Helper()
	s, err := c.out.ReadString('\n')
	require.NoError(c.t, err, "the child ended after %q", s)
	return strings.TrimSuffix(strings.TrimSuffix(s, "\n"), "\r")
}

// kill ends the child as kill -9 does and waits until it is reaped.
func (c *child) kill() {
	c.t.Helper()
	require.NoError(c.t, c.cmd.Process.Kill())
	c.cmd.Process.Wait() // not cmd.Wait, which would close the pipes that a grandchild may share
}

// end lets the child finish.
func (c *child) end() {
	c.t.Helper()
	c.in.Close()
	require.NoError(c.t, c.cmd.Wait())
}

// childHold FILE [WAIT]: prints "held" and holds until its input ends.
func childHold(args []string) error {
	wait := DefaultWait
	if len(args) > 1 {
		var err error
		if wait, err = time.ParseDuration(args[1]); err != nil {
			return err
		}
	}
	l, err := Acquire(context.Background(), args[0], Wait(wait))
	if err != nil {
		return err
	}
	taken, _ := l.Takeover()
	fmt.Printf("held %d %s\n", os.Getpid(), taken.Proof)
	io.Copy(io.Discard, os.Stdin)
	return l.Release()
}

// childIdle does nothing until its input ends.
func childIdle([]string) error {
	fmt.Printf("idle %d\n", os.Getpid())
	io.Copy(io.Discard, os.Stdin)
	fmt.Println("idle ended")
	return nil
}

// deadPID is the number of a process that has ended and was reaped.
func deadPID(t testing.TB) int {
	t.Helper()
	cmd := command("idle")
	require.NoError(t, cmd.Start())
	keepNumber(t, cmd.Process.Pid)
	require.NoError(t, cmd.Wait())
	return cmd.Process.Pid
}

func record(pid int) []byte { return appendRecord(nil, pid) }

// target is a protected file's path in a directory of its own.
func target(t testing.TB) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "settings.json")
}

func write(t testing.TB, path string, content []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, content, 0o600))
}

// read reads a lock or claim as a program must that does not keep its holder from removing it.
func read(t testing.TB, path string) string {
	t.Helper()
	f, err := sys.OpenFile(path)
	require.NoError(t, err)
	defer f.Close()
	buf := make([]byte, 100)
	n, err := readFull(f, buf)
	require.NoError(t, err)
	return string(buf[:n])
}

// deleteHeld deletes a lock under its holder, as an operator may.
func deleteHeld(t testing.TB, lock string) {
	t.Helper()
	require.NoError(t, os.Remove(lock))
	if _, err := os.Lstat(lock); err == nil {
		t.Skip("a held lock cannot be deleted here: its name stays as long as it is open")
	}
}

func try(t testing.TB, path string, opts ...Option) (*Lock, error) {
	t.Helper()
	return acquireFor(t, osSystem{}, newProcess(), path, append([]Option{Wait(0)}, opts...)...)
}

// acquireFor acquires as one more process would that has nothing to do with this one's table of locks.
func acquireFor(t testing.TB, s system, p *process, path string, opts ...Option) (*Lock, error) {
	t.Helper()
	l, err := acquire(context.Background(), s, p, path, newOptions(opts))
	if err == nil {
		t.Cleanup(func() { l.Release() })
	}
	return l, err
}

// entries are the names in the directory of path.
func entries(t testing.TB, path string) []string {
	t.Helper()
	list, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	names := []string{}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}
