//go:build unix

package pluginrun

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/filelock"
	"github.com/holdfast-go/holdfast/internal/testenv"
)

func nodeRun(t testing.TB, op, dir string, more ...string) *exec.Cmd {
	t.Helper()
	args := append([]string{filepath.Join(testenv.Node(t), "run.mjs"), "--op", op, "--dir", dir}, more...)
	return exec.Command("node", args...)
}

// nodeSays is what Node's look at the record finds.
func nodeSays(t testing.TB, dir string) string {
	t.Helper()
	out, err := nodeRun(t, "check", dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return strings.TrimSuffix(string(out), "\n")
}

// gateway is what a program waits at: `read x <gate` in sh goes on once the test lets it.
type gateway struct{ *os.File }

const waitAtGate = "read x <gate"

func newGateway(t testing.TB, dir string) gateway {
	t.Helper()
	path := filepath.Join(dir, "gate")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	f, err := os.OpenFile(path, os.O_RDWR, 0) // does not wait for the other end
	require.NoError(t, err)
	g := gateway{f}
	t.Cleanup(func() {
		g.let(1)
		f.Close()
	})
	return g
}

// let lets a number of programs go on.
func (g gateway) let(programs int) { fmt.Fprint(g, strings.Repeat("\n", programs)) }

// requireRecord demands the record's exact bytes and mode.
func requireRecord(t testing.TB, dir string, pid int, grouped bool) {
	t.Helper()
	require.Equal(t, fmt.Sprintf("{\"pid\":%d,\"grouped\":%t}\n", pid, grouped), read(t, place{dir}.record()))
	info, err := os.Lstat(place{dir}.record())
	require.NoError(t, err)
	require.Equal(t, "-rw-------", info.Mode().String())
}

// nodeProcess is a run of Node's.
type nodeProcess struct {
	*exec.Cmd
	says *bufio.Scanner
	pid  int // the recorded one
}

func startNodeRun(t testing.TB, dir, command string) nodeProcess {
	t.Helper()
	node := nodeRun(t, "start", dir, "--command", command)
	node.Stderr = os.Stderr
	out, err := node.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, node.Start())
	t.Cleanup(func() {
		node.Process.Kill()
		node.Wait()
	})
	n := nodeProcess{node, bufio.NewScanner(out), 0}
	require.True(t, n.says.Scan())
	_, err = fmt.Sscanf(n.says.Text(), "started %d", &n.pid)
	require.NoError(t, err, n.says.Text())
	requireRecord(t, dir, n.pid, true)
	require.Equal(t, fmt.Sprintf("running %d", n.pid), nodeSays(t, dir))
	return n
}

// A run of Node's keeps ours waiting, and leaves nothing to us.
func TestRunOfNode(t *testing.T) {
	t.Parallel()
	dir := profile(t)
	gate := newGateway(t, dir)
	node := startNodeRun(t, dir, waitAtGate)
	_, err := shell(t, dir, "exit 0", LockWait(0))
	var held *filelock.HeldError
	require.ErrorAs(t, err, &held)
	assert.Equal(t, node.Process.Pid, held.Holder.PID)
	requireRecord(t, dir, node.pid, true)

	let := sync.OnceFunc(func() { gate.let(1) })
	r, err := shell(t, dir, "exit 0", OnWait(func(filelock.Holder) { let() }))
	require.NoError(t, err)
	assert.Zero(t, r.ExitCode)
	assert.Nil(t, r.Leftover)
	require.True(t, node.says.Scan())
	assert.Equal(t, "stopped", node.says.Text())
	require.NoError(t, node.Wait())
	settled(t, dir)
}

// What a killed process of Node has recorded is refused while it runs, and left behind once it has stopped.
func TestRunOfAKilledNode(t *testing.T) {
	t.Parallel()
	dir := profile(t)
	gate := newGateway(t, dir)
	node := startNodeRun(t, dir, waitAtGate)
	require.NoError(t, node.Process.Kill())
	_, err := node.Process.Wait()
	require.NoError(t, err)

	r, err := shell(t, dir, "exit 0", LeftoverWait(0))
	require.Nil(t, r)
	var active *ActiveError
	require.ErrorAs(t, err, &active)
	assert.EqualValues(t, node.pid, active.PID)
	assert.True(t, active.Grouped)
	assert.Equal(t, place{dir}.record(), active.Record)
	require.NotEmpty(t, active.Processes)
	assert.Equal(t, node.pid, active.Processes[0].PID)
	assert.Contains(t, err.Error(), fmt.Sprintf("PID %d", node.pid))
	requireRecord(t, dir, node.pid, true)
	assert.Equal(t, fmt.Sprintf("running %d", node.pid), nodeSays(t, dir))

	r, err = shell(t, dir, "exit 0", OnLeftover(func(*ActiveError) { gate.let(1) }))
	require.NoError(t, err)
	require.Zero(t, r.ExitCode)
	require.NotNil(t, r.Leftover)
	assert.EqualValues(t, node.pid, r.Leftover.PID)
	assert.Equal(t, "absent", nodeSays(t, dir))
	settled(t, dir)
}

// Node sees our runs, captured and attached, and that they are over.
func TestRecordForNode(t *testing.T) {
	for name, opts := range map[string][]Option{"captured": nil, "attached": {Attached()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := profile(t)
			gate := newGateway(t, dir)
			require.Equal(t, "absent", nodeSays(t, dir))
			began, ended := make(chan int, 1), make(chan error, 1)
			go func() {
				_, err := shell(t, dir, waitAtGate, append(opts, OnStart(func(pid int) { began <- pid }))...)
				ended <- err
			}()
			var pid int
			select {
			case pid = <-began:
			case err := <-ended:
				t.Fatal(err)
			}
			requireRecord(t, dir, pid, opts == nil)
			assert.Equal(t, fmt.Sprintf("running %d", pid), nodeSays(t, dir))
			gate.let(1)
			require.NoError(t, <-ended)
			assert.Equal(t, "absent", nodeSays(t, dir))
		})
	}
}

// Node judges the record of a killed process of ours.
func TestRecordOfAKilledProcessForNode(t *testing.T) {
	t.Parallel()
	testenv.Node(t)
	dir := profile(t)
	gate := newGateway(t, dir)
	m := manager{t: t, env: os.Environ()}
	c := m.order(order{Dir: dir, Program: "sh", Args: []string{"-c", waitAtGate}})
	var pid int
	c.hears("started", &pid)
	c.kill()
	requireRecord(t, dir, pid, true)
	require.Equal(t, fmt.Sprintf("running %d", pid), nodeSays(t, dir))
	gate.let(1)
	gone := func() bool { return syscall.Kill(-pid, 0) != nil }
	for end := time.Now().Add(10 * time.Second); !gone() && time.Now().Before(end); time.Sleep(5 * time.Millisecond) { // between two looks
	}
	if gone() { // else nobody here reaps orphans: Node takes them for running
		assert.Equal(t, fmt.Sprintf("stopped %d", pid), nodeSays(t, dir))
	}
	r, err := New(dir, Program("sh")).Run(context.Background(), "-c", "exit 0")
	require.NoError(t, err)
	assert.Zero(t, r.ExitCode)
	assert.Equal(t, "absent", nodeSays(t, dir))
}

// What names no run is refused by both.
func TestRecordThatNamesNoRunForNode(t *testing.T) {
	dir := profile(t)
	require.NoError(t, os.Mkdir(filepath.Join(dir, ownDir), 0o700))
	write(t, place{dir}.record(), "{\"pid\":0,\"grouped\":true}\n")
	assert.Equal(t, "refused", nodeSays(t, dir))
	r, err := shell(t, dir, "exit 0")
	assert.Nil(t, r)
	var refused *RecordError
	assert.ErrorAs(t, err, &refused)
}
