package child

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
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
	"github.com/holdfast-go/holdfast/internal/testenv"
)

func init() {
	programs["program:headless"] = programHeadless
	programs["program:stubborn"] = programStubborn
	programs["program:zombie"] = programZombie
	programs["program:members"] = programMembers
	programs["program:count"] = programCount
	programs["program:hidden"] = programHidden
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
	tree := Tree{Mark: testMark}
	members, err := tree.Members()
	if err != nil {
		return 1
	}
	for _, m := range members {
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
	members, err := tree.Members()
	if err != nil {
		panic(err)
	}
	for _, m := range members {
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
		members, err := r.tree.Members()
		require.NoError(t, err)
		for _, m := range members {
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
	t.Run("stopped", func(t *testing.T) {
		r := grow(t, 2, spawn, "session", block)
		for _, pid := range r.pids {
			require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
		}
		r.tree.Terminate(Asked{})
		assert.Empty(t, r.out.rest())
		gone(t, r.tree)
	})
	t.Run("the first thread has ended", func(t *testing.T) {
		r := grow(t, 1, spawn, "session,leave", "program:headless")
		tree := r.leaderless(t)
		tree.Kill()
		assert.Empty(t, r.out.rest())
	})
}

// Where there is no list of processes, the child and its group are what can be asked for.
func TestTreeWithoutList(t *testing.T) {
	r := grow(t, 2, "program:spawn", "", "program:block")
	alone := &Tree{Root: r.PID()}
	assert.Equal(t, r.PID(), alone.known()[0].PID)
	assert.Equal(t, r.PID(), (&Tree{Group: r.PID()}).known()[0].PID)
	assert.Empty(t, (&Tree{}).known())
	assert.Empty(t, (&Tree{Root: 1, Group: 1}).known())
	(&Tree{}).signalKnown(syscall.SIGKILL)

	alone.signalKnown(syscall.SIGKILL)
	require.NoError(t, r.Wait())
	assert.Empty(t, alone.known())
	group := &Tree{Root: r.PID(), Group: r.PID()}
	assert.Len(t, group.known(), 1, "its leader has ended, it has not")
	group.signalKnown(syscall.SIGKILL)
	assert.Empty(t, r.out.rest())
	require.Eventually(t, func() bool { return len(group.known()) == 0 }, eventually, time.Millisecond)
}

// Where the list cannot be read, nobody knows who is left: the child is there until it has ended, and is asked by its handle.
func TestTreeInShortage(t *testing.T) {
	const spawn, stubborn = "program:spawn", "program:stubborn"
	t.Run("of all", func(t *testing.T) {
		r := grow(t, 2, spawn, "", stubborn)
		enough := testenv.Shortage(t, 0)
		defer enough()
		members, err := r.tree.Members()
		r.tree.Terminate(Asked{})
		waited := r.Wait()
		_, after := r.tree.Members()
		enough()
		require.ErrorIs(t, err, unix.EMFILE)
		require.Len(t, members, 1)
		assert.Equal(t, r.PID(), members[0].PID)
		require.NoError(t, waited, "it was asked")
		require.ErrorIs(t, after, unix.EMFILE, "its group goes on")
		assert.Len(t, pids(r.tree), 1)

		enough = testenv.Shortage(t, 0)
		defer enough()
		r.tree.Kill()
		enough()
		assert.Empty(t, r.out.rest())
		gone(t, r.tree)
	})
	t.Run("each is asked once", func(t *testing.T) {
		r := grow(t, 1, "program:count")
		asked := Asked{}
		r.tree.Start = sys.Probe(r.PID()).Start
		enough := testenv.Shortage(t, 0)
		defer enough()
		r.tree.Terminate(asked)
		r.tree.Terminate(asked)
		enough()
		r.tree.Terminate(asked)
		r.out.input.Close()
		assert.Equal(t, "1", r.out.rest())
	})
}

// programCount prints its number, and at the end of its input how often it was asked to end.
func programCount([]string) int {
	asked := make(chan os.Signal, 10)
	signal.Notify(asked, syscall.SIGTERM)
	programBlock(nil)
	<-asked // it may be on its way still
	fmt.Println(1 + len(asked))
	return 0
}

// The number of a group that is gone may be given to a stranger, who is not signalled.
func TestGroupOfAStranger(t *testing.T) {
	r := grow(t, 1, "program:block")
	stranger := r.PID()
	start := sys.Probe(stranger).Start
	for what, f := range map[string]func(*Tree){
		"looked for": func(tree *Tree) { assert.Empty(t, pids(*tree)) },
		"asked":      func(tree *Tree) { tree.Terminate(Asked{}) },
		"killed":     func(tree *Tree) { tree.Kill() },
	} {
		tree := Tree{Group: stranger, Start: start - 1}
		f(&tree)
		assert.Equal(t, sys.Present, sys.Probe(stranger).Presence, what)
	}
	r.out.input.Close()
	tree := r.leaderless(t)
	require.Equal(t, stranger, tree.Group)
	_, err := tree.Members()
	require.NoError(t, err)
	assert.Zero(t, tree.Group, "it is forgotten, whoever has the number next")
}

// A child that the list does not show, as another user's where those are hidden, is a member all the same.
func TestTreeHiddenChild(t *testing.T) {
	testenv.Root(t)
	dir, err := os.MkdirTemp("", "hidden") // where anybody may go
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	content, err := os.ReadFile("/bin/sleep")
	require.NoError(t, err)
	path := script(t, filepath.Join(dir, "sleep"), string(content), 0o755)
	require.NoError(t, os.Chmod(path, 0o755|os.ModeSetuid))
	cmd := exec.Command(self(t), "program:hidden", path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	assert.Equal(t, "listed false, member true, asked: signal: terminated", string(out))
	require.NoError(t, err)
}

// programHidden PATH runs a program that becomes root as a user from whom root's processes are hidden, and asks it to end.
func programHidden(args []string) int {
	syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "")
	if err := syscall.Mount("proc", "/proc", "proc", 0, "hidepid=2"); err != nil {
		fmt.Print(err)
		return 1
	}
	syscall.Setgroups(nil)
	syscall.Setgid(65534) // the files of processes are shown to group 0
	syscall.Setuid(65534)
	useGate("/bin/sh")
	c, err := Start(Spec{Path: args[0], Args: []string{"sleep", "100"}, Files: [3]*os.File{os.Stdin, os.Stdout, os.Stderr}, Group: true})
	if err == nil {
		err = c.Open()
	}
	if err != nil {
		fmt.Print(err)
		return 1
	}
	is := func(pid int) bool { return pid == c.PID() }
	tree := Tree{Root: c.PID(), Group: c.PID(), Child: c}
	var listed bool
	for listed = true; listed; { // until it is root's
		all, _ := sys.Processes()
		listed = slices.ContainsFunc(all, func(l sys.Listed) bool { return is(l.PID) })
	}
	members, _ := tree.Members()
	tree.Terminate(Asked{})
	end, _ := c.Reap()
	fmt.Printf("listed %t, member %t, asked: %v", listed, slices.ContainsFunc(members, func(m Member) bool { return is(m.PID) }), end)
	return 0
}
