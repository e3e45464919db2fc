package child

import (
	"bytes"
	"encoding/gob"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"

	"github.com/holdfast-go/holdfast/internal/sys"
)

func gates() []string { return []string{"suspended"} }

func useGate(string) (restore func()) { return func() {} }

func (r *report) see() { r.Env = os.Environ() }

func detach(*exec.Cmd, string) {}

func reapOrphan(int) {}

func TestTreeIsTheJob(t *testing.T) {
	files, out := streams(t)
	c := start(t, program(t, files, "program:spawn", "leave", "program:spawn", "", "program:block"))
	tree := Tree{Root: c.PID(), Child: c}
	assert.Equal(t, []int{c.PID()}, pids(tree), "before it runs")
	require.NoError(t, c.Open())
	below := []int{out.pid(), out.pid()}
	require.NoError(t, c.Wait())
	assert.ElementsMatch(t, below, pids(tree), "the child has ended, what it left has not")
	members, err := tree.Members()
	require.NoError(t, err)
	assert.Contains(t, members[0].Command, ".exe")
	tree.Terminate(Asked{})
	assert.ElementsMatch(t, below, pids(tree), "nobody can be asked")
	tree.Kill()
	assert.Empty(t, out.rest())
	assert.Empty(t, pids(tree))
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

// What the system writes arrives, wherever the stack was and is when it is asked.
func TestTreeAtEveryDepth(t *testing.T) {
	files, out := streams(t)
	c := start(t, program(t, files, "program:block"))
	require.NoError(t, c.Open())
	out.pid()
	type answer struct {
		list []int
		err  error
	}
	for depth := range 1200 {
		answers := make(chan answer)
		go deeper(depth, func() {
			list, err := c.gate.processes()
			answers <- answer{list, err}
		})
		require.Equal(t, answer{list: []int{c.PID()}}, <-answers, "%d calls deep", depth)
	}
}

// deeper calls f below as many calls, each of which has a frame of its own.
//
//go:noinline
func deeper(calls int, f func()) byte {
	var frame [64]byte
	if calls == 0 {
		f()
	} else {
		frame[calls%len(frame)] = deeper(calls-1, f)
	}
	return frame[(calls+1)%len(frame)]
}

func TestTreeThatIsNotOurs(t *testing.T) {
	files, out := streams(t)
	c := start(t, program(t, files, "program:block"))
	require.NoError(t, c.Open())
	out.pid()
	tree := Tree{Root: c.PID()}
	assert.Equal(t, []int{c.PID()}, pids(tree))
	tree.Kill()
	assert.Equal(t, sys.Present, sys.Probe(c.PID()).Presence)
	assert.Empty(t, pids(Tree{}))
}

// A program that ran before the opening failed has ended, with all that is in its job, once that is said.
func TestOpenedInPart(t *testing.T) {
	files, out := streams(t)
	below, err := StartUngated(program(t, files, "program:block")) // as if it had been started meanwhile
	require.NoError(t, err)
	out.pid()
	c := start(t, program(t, files, "program:block"))
	job := windows.Handle(c.gate.job.Load())
	require.NoError(t, withHandle(below, func(h windows.Handle) error { return windows.AssignProcessToJobObject(job, h) }))
	const query, terminate = 0x4, 0x8 // JOB_OBJECT_QUERY, JOB_OBJECT_TERMINATE; not JOB_OBJECT_SET_ATTRIBUTES
	var limited windows.Handle
	require.NoError(t, windows.DuplicateHandle(windows.CurrentProcess(), job, windows.CurrentProcess(), &limited, query|terminate, false, 0))
	c.gate.job.Store(uintptr(limited))
	all := gate{}
	all.job.Store(uintptr(job))
	defer all.close()

	require.ErrorIs(t, c.Open(), windows.ERROR_ACCESS_DENIED)
	left, err := all.processes()
	require.NoError(t, err)
	assert.Empty(t, left)
	_, err = below.Wait()
	require.NoError(t, err)
}

func TestTreeOfClosedChild(t *testing.T) {
	files, out := streams(t)
	c := start(t, program(t, files, "program:block"))
	require.NoError(t, c.Open())
	out.pid()
	c.Close()
	job, err := windows.CreateJobObject(nil, nil)
	require.NoError(t, err)
	defer windows.CloseHandle(job)
	require.NoError(t, windows.AssignProcessToJobObject(job, windows.CurrentProcess()))
	tree := Tree{Root: c.PID(), Child: c}
	members, err := tree.Members()
	require.ErrorIs(t, err, os.ErrClosed)
	require.Len(t, members, 1, "not those of our own job")
	assert.Equal(t, c.PID(), members[0].PID)
	tree.Kill()
	assert.Equal(t, sys.Present, sys.Probe(c.PID()).Presence)
}

func TestMissingProgram(t *testing.T) {
	files, _ := streams(t)
	path := filepath.Join(t.TempDir(), "missing.exe")
	_, err := Start(Spec{Path: path, Files: files})
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestEnvironment(t *testing.T) {
	files, out := streams(t)
	s := program(t, files, "program:report")
	s.Env = append(s.Env, `npm_config_//host/:_authToken=x y`, "A-B=1", "LINES_=one\ntwo")
	r := reported(t, s, out)
	assert.Subset(t, r.Env, s.Env[len(s.Env)-3:])
}

func TestBatchFile(t *testing.T) {
	for _, name := range []string{"shim.cmd", "a b.CMD", "a&b (1).bat", "100%.cmd"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), name)
			require.NoError(t, os.WriteFile(path, []byte("@echo off\r\n\"%HOLDFAST_TEST_SELF%\" program:report %*\r\n"), 0o700))
			for _, arg := range []string{
				"plain", "two words", "", "a&b", "a|b", "<a>", "%PATH%", "%", "^", "a^b", "(a)", "!a!", "a;b,c=d", `a\`, `a\b c\`, "*?",
			} {
				if strings.Contains(arg, "%") && onWine {
					continue // it expands variables in a batch file's arguments once more
				}
				files, out := streams(t)
				s := Spec{Path: path, Args: []string{path, arg, "last"}, Files: files}
				s.Env = append(os.Environ(), "HOLDFAST_TEST_SELF="+self(t))
				r := reported(t, s, out)
				assert.Equal(t, []string{"program:report", arg, "last"}, r.Args[1:])
			}
		})
	}
}

var onWine = windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil

// What the interpreter makes of a line, without a batch file.
func TestBatchLine(t *testing.T) {
	system, err := windows.GetSystemDirectory()
	require.NoError(t, err)
	args := []string{"", "%PATH%", "%", "%%", "100% &", `%cd%\`}
	interpreter, line, err := batch("p.cmd", args, system+`\cmd.exe`)
	require.NoError(t, err)
	cmd := exec.Command(interpreter)
	cmd.SysProcAttr = &syscall.SysProcAttr{CmdLine: strings.Replace(line, `"p.cmd"`, `"`+self(t)+`" program:report`, 1)}
	out, err := cmd.Output()
	require.NoError(t, err)
	var r report
	require.NoError(t, gob.NewDecoder(bytes.NewReader(out)).Decode(&r))
	assert.Equal(t, args[1:], r.Args[2:])
}
