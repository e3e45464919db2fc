package child

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/holdfast-go/holdfast/internal/sys"
)

func init() {
	programs["program:headless"] = programHeadless
	programs["program:stubborn"] = programStubborn
	programs["program:zombie"] = programZombie
	programs["program:members"] = programMembers
	if len(os.Args) > 1 && os.Args[1] == "program:headless" {
		runtime.LockOSThread() // in an init function: to the first thread
	}
}

// programHeadless blocks without its first thread.
func programHeadless([]string) int {
	go func() {
		for pid := os.Getpid(); !firstThreadEnded(pid); runtime.Gosched() {
		}
		os.Exit(programBlock(nil))
	}()
	unix.RawSyscall(unix.SYS_EXIT, 0, 0, 0)
	return 0
}

func firstThreadEnded(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/stat", pid))
	return err == nil && strings.Contains(string(stat), ") Z ")
}

// programStubborn does not end when it is asked to.
func programStubborn([]string) int {
	signal.Ignore(syscall.SIGTERM)
	return programBlock(nil)
}

// programZombie prints the number of a child that has ended and is not reaped, and blocks.
func programZombie([]string) int {
	cmd := exec.Command(os.Args[0], "program:exit", "0")
	if cmd.Start() != nil || waitUnreaped(cmd.Process) != nil {
		return 1
	}
	fmt.Println(cmd.Process.Pid)
	return programBlock(nil)
}

// programMembers prints the numbers of the marked processes that it sees, then its own, and blocks.
func programMembers([]string) int {
	for _, m := range (Tree{Mark: testMark}).Members() {
		fmt.Println("member", m.PID)
	}
	return programBlock(nil)
}

const numberEnv = "HOLDFAST_TEST_NUMBER"

// testMark is that of this run of the tests: others may go on at the same time.
var testMark = Mark{"HOLDFAST_TEST_RUN", "run:" + cmp.Or(os.Getenv(numberEnv), strconv.Itoa(os.Getpid()))}

// run is a started tree whose processes have printed their numbers.
type run struct {
	*Child
	tree Tree
	out  output
	pids []int
}

// grow starts a program behind a gate as the root of a marked tree in a group of its own, and waits for the numbers of its
// processes. They end with the test.
func grow(t *testing.T, count int, args ...string) run {
	t.Helper()
	files, out := streams(t)
	t.Cleanup(func() {
		out.input.Close()
		for {
			if _, err := syscall.Wait4(-1, nil, 0, nil); err != nil && err != syscall.EINTR {
				return
			}
		}
	})
	s := program(t, files, args...)
	s.Env = append(s.Env, numberEnv+"="+strconv.Itoa(os.Getpid()), testMark.Variable+"=run:0 "+testMark.Word+":x")
	s.Group = true
	c := start(t, s)
	r := run{c, Tree{Root: c.PID(), Group: c.PID(), Mark: testMark, Child: c}, out, nil}
	require.NoError(t, c.Open())
	for range count {
		r.pids = append(r.pids, out.pid())
	}
	return r
}

// leaderless is r's tree after the child has ended and is reaped.
func (r run) leaderless(t *testing.T) Tree {
	t.Helper()
	_, err := r.Reap()
	require.NoError(t, err)
	tree := r.tree
	tree.Root = 0
	return tree
}

func pids(tree Tree) (pids []int) {
	for _, m := range tree.Members() {
		pids = append(pids, m.PID)
	}
	return pids
}

// consists waits until the tree has these processes and no other: a program that leaves another behind ends after that one
// has printed its number.
func consists(t *testing.T, tree Tree, want []int) {
	t.Helper()
	var got []int
	require.Eventually(t, func() bool {
		got = pids(tree)
		slices.Sort(got)
		return slices.Equal(slices.Sorted(slices.Values(want)), got)
	}, eventually, time.Millisecond, "%d, not %d", want, &got)
}

// gone waits until the tree is empty: the end of the output comes just before the end of a process.
func gone(t *testing.T, tree Tree) {
	t.Helper()
	consists(t, tree, nil)
}

func TestTree(t *testing.T) {
	const block, spawn = "program:block", "program:spawn"
	t.Run("the stub is a member", func(t *testing.T) {
		eachGate(t, func(t *testing.T) {
			files, _ := streams(t)
			c := start(t, program(t, files, block))
			assert.Equal(t, []int{c.PID()}, pids(Tree{Root: c.PID()}))
		})
	})
	t.Run("by parent", func(t *testing.T) {
		r := grow(t, 3, spawn, "bare,session", spawn, "group", block)
		assert.ElementsMatch(t, r.pids, pids(Tree{Root: r.PID()}))
		for _, m := range r.tree.Members() {
			assert.Contains(t, m.Command, "program:")
		}
	})
	t.Run("by group, without the mark, the parents gone", func(t *testing.T) {
		r := grow(t, 1, spawn, "leave", spawn, "bare,leave", block)
		tree := r.leaderless(t)
		consists(t, Tree{Group: tree.Group}, r.pids)
		assert.Equal(t, r.pids, pids(tree))
		assert.Empty(t, pids(Tree{Mark: tree.Mark}))
	})
	t.Run("by mark, in a session of its own, the parents gone", func(t *testing.T) {
		r := grow(t, 1, spawn, "session,leave", spawn, "group,leave", block)
		tree := r.leaderless(t)
		consists(t, tree, r.pids)
		assert.Empty(t, pids(Tree{Group: tree.Group}))
		assert.Empty(t, pids(Tree{Mark: Mark{testMark.Variable, testMark.Word + ":y"}}))
	})
	t.Run("by an orphan's mark, below it without the mark", func(t *testing.T) {
		r := grow(t, 2, spawn, "session,leave", spawn, "bare,group", block)
		consists(t, r.leaderless(t), r.pids)
	})
	t.Run("the first thread has ended", func(t *testing.T) {
		r := grow(t, 1, spawn, "session,leave", "program:headless")
		tree := r.leaderless(t)
		require.True(t, firstThreadEnded(r.pids[0]))
		assert.Equal(t, r.pids, pids(tree))
	})
	t.Run("ended and not reaped", func(t *testing.T) {
		r := grow(t, 1, "program:zombie")
		zombie := r.pids[0]
		r.pids[0] = r.out.pid()
		require.Equal(t, sys.Exited, sys.Probe(zombie).Presence)
		assert.Equal(t, r.pids, pids(r.tree))
	})
	t.Run("unreaped child", func(t *testing.T) {
		r := grow(t, 1, spawn, "leave", block)
		require.NoError(t, r.Wait())
		assert.Equal(t, r.pids, pids(r.tree))
		assert.Equal(t, sys.Present, sys.ProbeGroup(r.PID()))
		require.NoError(t, syscall.Kill(r.pids[0], syscall.SIGKILL))
		assert.Empty(t, r.out.rest())
		gone(t, r.tree)
		assert.Equal(t, sys.Exited, sys.ProbeGroup(r.PID()))
	})
	t.Run("neither we nor our parents", func(t *testing.T) {
		r := grow(t, 2, spawn, "", "program:members")
		assert.ElementsMatch(t, r.pids, pids(r.tree), "what they are to others")
	})
}

func TestTreeEnds(t *testing.T) {
	const block, spawn, stubborn = "program:block", "program:spawn", "program:stubborn"
	t.Run("asked", func(t *testing.T) {
		r := grow(t, 3, spawn, "session", spawn, "leave,group", spawn, "bare", block)
		r.tree.Terminate(Asked{})
		assert.Empty(t, r.out.rest())
		end, err := r.Reap()
		require.NoError(t, err)
		assert.Equal(t, syscall.SIGTERM, end.Sys().(syscall.WaitStatus).Signal())
		gone(t, Tree{Group: r.PID(), Mark: testMark})
	})
	t.Run("killed", func(t *testing.T) {
		r := grow(t, 2, spawn, "session", stubborn)
		r.tree.Terminate(Asked{})
		require.NoError(t, r.Wait())
		orphan := r.pids[:0]
		for _, pid := range r.pids {
			if pid != r.PID() {
				orphan = append(orphan, pid)
			}
		}
		assert.Equal(t, orphan, pids(r.tree), "the child ends, the other does not")
		r.tree.Kill()
		assert.Empty(t, r.out.rest())
		gone(t, r.tree)
	})
	t.Run("the first thread has ended", func(t *testing.T) {
		r := grow(t, 1, spawn, "session,leave", "program:headless")
		r.leaderless(t).Kill()
		assert.Empty(t, r.out.rest())
	})
}

// Where there is no list of processes, the child and its group are what can be asked for.
func TestTreeWithoutList(t *testing.T) {
	r := grow(t, 2, "program:spawn", "", "program:block")
	alone := Tree{Root: r.PID()}
	assert.Equal(t, r.PID(), alone.known()[0].PID)
	assert.Equal(t, r.PID(), Tree{Group: r.PID()}.known()[0].PID)
	assert.Empty(t, Tree{}.known())
	assert.Empty(t, Tree{Root: 1, Group: 1}.known())
	Tree{}.signalKnown(syscall.SIGKILL)

	alone.signalKnown(syscall.SIGKILL)
	require.NoError(t, r.Wait())
	assert.Empty(t, alone.known())
	group := Tree{Root: r.PID(), Group: r.PID()}
	assert.Len(t, group.known(), 1, "its leader has ended, it has not")
	group.signalKnown(syscall.SIGKILL)
	assert.Empty(t, r.out.rest())
	require.Eventually(t, func() bool { return len(group.known()) == 0 }, eventually, time.Millisecond)
}
