//go:build unix || windows

package child

import (
	"bufio"
	"encoding/gob"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/sys"
	"github.com/holdfast-go/holdfast/internal/testenv"
)

// programs are what this test binary does when it is started again with one of these words as its first argument.
var programs = map[string]func(args []string) int{
	"program:report": programReport,
	"program:say":    programSay,
	"program:exit":   programExit,
	"program:block":  programBlock,
	"program:spawn":  programSpawn,
	"program:start":  programStart,
}

func TestMain(m *testing.M) {
	Gate()
	if len(os.Args) > 1 && programs[os.Args[1]] != nil {
		syscall.Exit(programs[os.Args[1]](os.Args[2:])) // without the second for which the race detector holds os.Exit up
	}
	_ = sys.BecomeReaper() // where it can be had: no test leaves an orphan to others
	os.Exit(testenv.Run(m))
}

// report is what a program sees of how it was started.
type report struct {
	PID            int
	Args           []string
	Env            []string
	Dir            string
	Group, Session int
	Files          []int
}

func programReport([]string) int {
	r := report{PID: os.Getpid(), Args: os.Args}
	r.Dir, _ = os.Getwd()
	r.see()
	if gob.NewEncoder(os.Stdout).Encode(r) != nil {
		return 1
	}
	return 0
}

func programSay(args []string) int {
	fmt.Println(strings.Join(args, " "))
	return 0
}

func programExit(args []string) int {
	code, _ := strconv.Atoi(args[0])
	return code
}

// programBlock prints its number and does nothing until its input ends.
func programBlock([]string) int {
	fmt.Println(os.Getpid())
	io.Copy(io.Discard, os.Stdin)
	return 0
}

// programSpawn HOW PROGRAM ARGS... starts this binary again and blocks, or leaves it. HOW is words separated by commas.
func programSpawn(args []string) int {
	cmd := exec.Command(os.Args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	leave := false
	for how := range strings.SplitSeq(args[0], ",") {
		switch how {
		case "bare":
			cmd.Env = []string{}
		case "leave":
			leave = true
		default:
			detach(cmd, how)
		}
	}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if leave {
		return 0
	}
	return programBlock(nil)
}

// programStart GATE PATH starts a program that says something, prints its number, and never opens the gate.
func programStart(args []string) int {
	useGate(args[0])
	c, err := Start(Spec{
		Path: args[1], Args: []string{args[1], "program:say", "ran"}, Env: os.Environ(),
		Files: [3]*os.File{os.Stdin, os.Stdout, os.Stderr},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(c.PID())
	io.Copy(io.Discard, os.Stdin)
	return 0
}

// eventually is more than anything takes that is waited for.
const eventually = time.Minute

// output is what processes print; its end means that all of them have ended.
type output struct {
	t     testing.TB
	lines *bufio.Reader
	input io.Closer // the processes' input ends with it
}

// streams are the standard streams of programs: their input ends with the test, and their output is read by it.
func streams(t testing.TB) ([3]*os.File, output) {
	t.Helper()
	in, hold, err := os.Pipe()
	require.NoError(t, err)
	r, w, err := os.Pipe()
	require.NoError(t, err)
	_ = r.SetReadDeadline(time.Now().Add(eventually)) // not everywhere
	t.Cleanup(func() {
		for _, f := range []*os.File{in, hold, r, w} {
			f.Close()
		}
	})
	return [3]*os.File{in, w, os.Stderr}, output{t, bufio.NewReader(r), hold}
}

// pid is the next line, a number.
func (o output) pid() int {
	o.t.Helper()
	line, err := o.lines.ReadString('\n')
	require.NoError(o.t, err, "after %q", line)
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(o.t, err)
	return pid
}

// rest is all that is still printed, until every process has ended.
func (o output) rest() string {
	o.t.Helper()
	rest, err := io.ReadAll(o.lines)
	require.NoError(o.t, err, "something still runs")
	return strings.TrimSpace(string(rest))
}

func self(t testing.TB) string {
	t.Helper()
	path, err := os.Executable()
	require.NoError(t, err)
	return path
}

// program is a Spec for one of this binary's programs.
func program(t testing.TB, files [3]*os.File, args ...string) Spec {
	t.Helper()
	return Spec{Path: self(t), Args: append([]string{self(t)}, args...), Env: os.Environ(), Files: files}
}

// start starts s and forgets our ends of its streams. The child is ended with the test.
func start(t testing.TB, s Spec) *Child {
	t.Helper()
	c, err := Start(s)
	require.NoError(t, err)
	s.Files[1].Close()
	t.Cleanup(func() {
		c.Process().Kill()
		c.Reap()
		c.Close()
	})
	return c
}

// reported runs s, which must be the program that reports.
func reported(t testing.TB, s Spec, out output) (r report) {
	t.Helper()
	c := start(t, s)
	require.NoError(t, c.Open())
	require.NoError(t, gob.NewDecoder(out.lines).Decode(&r))
	end, err := c.Reap()
	require.NoError(t, err)
	require.True(t, end.Success(), end.String())
	return r
}

// eachGate runs a test with all gates that there are here.
func eachGate(t *testing.T, test func(t *testing.T)) {
	for _, name := range gates() {
		t.Run(strings.Trim(strings.ReplaceAll(name, "/", "-"), "-"), func(t *testing.T) {
			restore := useGate(name)
			defer restore()
			test(t)
		})
	}
}
