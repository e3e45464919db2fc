package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/holdfast-go/holdfast/internal/sys"
	"github.com/holdfast-go/holdfast/internal/testenv"
)

func init() {
	tools["environ"] = toolEnviron         // F   write the environment, byte for byte
	tools["descriptors"] = toolDescriptors // F   write what descriptors were inherited
	tools["increment"] = toolIncrement     // F   add one to the counter in F
	tools["unwaited"] = toolUnwaited       // CMD...  become CMD, to which the end of a child is not told before it is reaped
}

func toolUnwaited(args []string) error {
	if err := testenv.RefuseWaitid(); err != nil {
		return err
	}
	path, err := exec.LookPath(args[0])
	if err != nil {
		return err
	}
	return syscall.Exec(path, args, os.Environ())
}

func toolEnviron(args []string) error {
	block, err := os.ReadFile("/proc/self/environ")
	if err != nil {
		return err
	}
	return publish(args[0], string(block))
}

func toolDescriptors(args []string) error {
	var found strings.Builder
	for fd := range 64 {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err != nil || flags&unix.FD_CLOEXEC != 0 {
			continue
		}
		to, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
		if err != nil {
			return err
		}
		fmt.Fprintln(&found, fd, to)
	}
	return publish(args[0], found.String())
}

func toolIncrement(args []string) error {
	var out strings.Builder
	text, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(regexp.MustCompile(`\d+`).FindString(string(text)))
	if err != nil {
		return err
	}
	fmt.Fprintf(&out, "{\"n\":%d}\n", n+1)
	return os.WriteFile(args[0], []byte(out.String()), 0o600)
}

// content is what a tool has published.
func content(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(text)
}

// started is a command in the background that ends with the test at the latest; said is what it has written to standard
// error.
func started(t *testing.T, args ...string) (cmd *exec.Cmd, said func() string) {
	t.Helper()
	file := temporary(t, "stderr") // a pipe would be waited for as long as anybody has it
	cmd = exec.Command(args[0], args[1:]...)
	cmd.Stderr = file
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd, func() string { return content(t, file.Name()) }
}

// TestRecordNamesCommand: the number in the lock is CMD's own.
func TestRecordNamesCommand(t *testing.T) {
	file := filepath.Join(t.TempDir(), "plan")
	out, err := exec.Command("holdfast", "lock", file, "--", "sh", "-c", "echo $$; cat "+file+".lock").Output()
	require.NoError(t, err)
	pid, lock, _ := strings.Cut(string(out), "\n")
	assert.Equal(t, pid+"\n", lock)
	out, err = exec.Command("sh", "-c", "echo $$; exec holdfast edit --create x "+file+" -- cat "+file+".lock").Output()
	require.NoError(t, err)
	assert.Equal(t, string(out), content(t, file), "the lock of edit names holdfast")
}

// TestEnvironment: CMD gets ours byte for byte.
func TestEnvironment(t *testing.T) {
	env := []string{
		"PATH=" + os.Getenv("PATH"), "npm_config_//host/:_authToken=secret", "A-B=c", "TWO=lines\nof text\n", "EMPTY=", "Z=1", "A=2", "_=x", "PWD=/elsewhere",
	}
	for _, verb := range []string{"lock", "edit", "run"} {
		t.Run(verb, func(t *testing.T) {
			dir := t.TempDir()
			args, operand := []string{verb}, filepath.Join(dir, "plan")
			if verb == "edit" {
				args = append(args, "--create", "x", "--allow-empty")
			}
			cmd := exec.Command("holdfast", append(args, operand, "--", "tool", "environ", filepath.Join(dir, "out"))...)
			cmd.Env = env
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			want, got := strings.Join(env, "\x00")+"\x00", content(t, filepath.Join(dir, "out"))
			if verb == "run" {
				want += "CI=1\x00"
				before, _, found := strings.Cut(got, "HOLDFAST_RUN=")
				require.True(t, found)
				got = before
			}
			assert.Equal(t, want, got)
		})
	}
}

// TestDescriptors: CMD inherits what our caller gave us, but for the way to who asked for a report, and nothing of ours.
func TestDescriptors(t *testing.T) {
	dir := t.TempDir()
	three, nine, report := temporary(t, "three"), temporary(t, "nine"), temporary(t, "report")
	inherited := func(with *os.File, args ...string) string {
		out := filepath.Join(dir, "out")
		cmd := exec.Command(args[0], append(args[1:], "tool", "descriptors", out)...)
		cmd.ExtraFiles = []*os.File{three, nil, with, nil, nil, nil, nine}
		said, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", said)
		// The standard streams are not ours to compare: pipes.
		return regexp.MustCompile(`(?m)^[012] .*\n`).ReplaceAllString(content(t, out), "")
	}
	plain := inherited(nil, "env")
	require.Contains(t, plain, "3 "+three.Name()+"\n")
	require.Contains(t, plain, "9 "+nine.Name()+"\n")
	file := filepath.Join(dir, "plan")
	for _, verb := range []string{"lock", "edit", "write", "run", "run --attached"} {
		args := append([]string{"holdfast"}, strings.Fields(verb)...)
		switch verb {
		case "edit":
			args = append(args, "--create", "x", "--allow-empty")
		case "write":
			args = append(args, "--allow-empty", "--lock")
		}
		operand := file
		if strings.HasPrefix(verb, "run") {
			operand = filepath.Join(dir, "profile")
		}
		assert.Equal(t, plain, inherited(nil, append(args, operand, "--")...), verb)
		if verb != "write" {
			assert.Equal(t, plain, inherited(report, append(args, "--status-fd", "5", operand, "--")...), verb)
		}
	}
}

func temporary(t *testing.T, name string) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), name))
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

// childrenOf are the live children of a process.
func childrenOf(t *testing.T, pid int) (children []int) {
	t.Helper()
	all, err := sys.Processes()
	require.NoError(t, err)
	for _, p := range all {
		if p.Parent == pid {
			children = append(children, p.PID)
		}
	}
	return children
}

// gone waits until a process has ended, and reaps it if it became ours.
func gone(t *testing.T, pid int) {
	t.Helper()
	require.NoError(t, eventually(func() (string, bool) {
		sys.Reap(pid)
		return fmt.Sprint("PID ", pid, " lives"), sys.Probe(pid).Presence == sys.Absent
	}))
}

// adopt makes this process the parent of what its children leave behind, as the first process of a system is.
func adopt(t *testing.T) {
	t.Helper()
	require.NoError(t, sys.BecomeReaper())
	t.Cleanup(func() { require.NoError(t, unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)) })
}

// TestKilledWhileWaiting: CMD never runs, and nothing stays.
func TestKilledWhileWaiting(t *testing.T) {
	adopt(t)
	dir := t.TempDir()
	file, ran := filepath.Join(dir, "plan"), filepath.Join(dir, "ran")
	release := holder(t, file)
	cmd, _ := started(t, "holdfast", "lock", "--wait", "forever", file, "--", "tool", "make", ran, "x")
	var stub int
	require.NoError(t, eventually(func() (string, bool) {
		children := childrenOf(t, cmd.Process.Pid)
		if len(children) == 1 {
			stub = children[0]
		}
		return fmt.Sprint(children), len(children) == 1
	}))
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	gone(t, stub)
	release()
	said, err := exec.Command("holdfast", "lock", file, "--", "tool", "exit", "0").CombinedOutput()
	assert.NoError(t, err)
	assert.NotContains(t, string(said), "took over")
	assert.NoFileExists(t, ran)
	assert.NoFileExists(t, file+".lock")
}

// TestStubKilled: no lock is published for a process that has ended.
func TestStubKilled(t *testing.T) {
	for sig, want := range map[syscall.Signal]string{
		syscall.SIGKILL: "SIGKILL", syscall.SIGTERM: "SIGTERM", syscall.SIGQUIT: "SIGQUIT", syscall.SIGABRT: "SIGABRT",
	} {
		dir := t.TempDir()
		file, ran := filepath.Join(dir, "plan"), filepath.Join(dir, "ran")
		holder(t, file)
		before := content(t, file+".lock")
		cmd, said := started(t, "holdfast", "lock", "-q", "--wait", "forever", file, "--", "tool", "make", ran, "x")
		require.NoError(t, eventually(func() (string, bool) {
			children := childrenOf(t, cmd.Process.Pid)
			return fmt.Sprint(children), len(children) == 1 && isReading(children[0]) && syscall.Kill(children[0], sig) == nil
		}))
		assert.Equal(t, want, how(cmd.Wait()))
		assert.Regexp(t, `^holdfast: PID \d+, which was to become tool, was ended by `+want+`; nothing ran\n$`, said())
		assert.Equal(t, before, content(t, file+".lock"))
		assert.NoFileExists(t, ran)
	}
}

// isReading reports whether a thread of the process waits for something to read, as a stub at its gate does.
func isReading(pid int) bool {
	calls, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", pid))
	return slices.ContainsFunc(calls, func(path string) bool {
		call, err := os.ReadFile(path)
		return err == nil && strings.HasPrefix(string(call), strconv.Itoa(unix.SYS_READ)+" ")
	})
}

// TestDeathByASignalWithoutAName: CMD's end is ours, and is reported, also if it was by a real-time signal.
func TestDeathByASignalWithoutAName(t *testing.T) {
	const realTime = syscall.Signal(35)
	dir := t.TempDir()
	for _, verb := range [][]string{{"lock", filepath.Join(dir, "plan")}, {"edit", "--create", "x", filepath.Join(dir, "plan")}, {"run", "--captured", dir}} {
		status := temporary(t, "status")
		cmd := exec.Command("holdfast", slices.Concat(verb[:1], []string{"--status-fd", "3"}, verb[1:], []string{"--", "sh", "-c", "kill -35 $$"})...)
		cmd.ExtraFiles = []*os.File{status}
		out, _ := cmd.CombinedOutput()
		end := cmd.ProcessState.Sys().(syscall.WaitStatus)
		assert.True(t, end.Signaled() && end.Signal() == realTime, "%v: %v: %s", verb, cmd.ProcessState, out)
		assert.Contains(t, content(t, status.Name()), `"code":null,"signal":"SIG35"`, verb)
		if verb[0] == "run" {
			assert.Contains(t, string(out), "sh was ended by SIG35; ")
		}
	}
}

// TestDeathInAContainer: its first process cannot die by a signal, and ends with the code that stands for that.
func TestDeathInAContainer(t *testing.T) {
	testenv.Root(t)
	for name, want := range map[string]string{"HUP": "129", "INT": "130", "QUIT": "131", "KILL": "137", "USR1": "138", "TERM": "143"} {
		cmd := exec.Command("holdfast", "lock", filepath.Join(t.TempDir(), "plan"), "--", "sh", "-c", "ulimit -c 0; kill -"+name+" $$")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
		out, err := cmd.CombinedOutput()
		assert.Equal(t, want, how(err), "%s: %s", name, out)
	}
}

// TestKilledWhileCommandRuns: the lock stays held until CMD ends; then the next contender takes it over and is told so.
func TestKilledWhileCommandRuns(t *testing.T) {
	t.Run("Go", func(t *testing.T) { killedWhileCommandRuns(t, goIn) })
	t.Run("Node", func(t *testing.T) {
		testenv.Node(t)
		killedWhileCommandRuns(t, nodeIn)
	})
}

func killedWhileCommandRuns(t *testing.T, next func(t *testing.T, file string, command int) error) {
	adopt(t)
	dir := t.TempDir()
	file, ready := filepath.Join(dir, "plan"), filepath.Join(dir, "ready")
	cmd, _ := started(t, "holdfast", "lock", file, "--", "tool", "block", ready)
	require.NoError(t, toolUntil([]string{ready}))
	command, err := strconv.Atoi(strings.TrimSpace(content(t, ready)))
	require.NoError(t, err)
	t.Cleanup(func() { _ = syscall.Kill(command, syscall.SIGKILL); sys.Reap(command) })
	require.Error(t, next(t, file, command), "held")
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	for range 3 {
		require.Error(t, next(t, file, command), "still held: CMD runs")
	}
	assert.Equal(t, fmt.Sprintln(command), content(t, file+".lock"))
	require.NoError(t, syscall.Kill(command, syscall.SIGTERM))
	gone(t, command)
	require.NoError(t, next(t, file, command))
	assert.NoFileExists(t, file+".lock")
}

func goIn(t *testing.T, file string, command int) error {
	said, err := exec.Command("holdfast", "lock", "-n", file, "--", "tool", "exit", "0").CombinedOutput()
	if err != nil {
		assert.Equal(t, "75", how(err))
		assert.Contains(t, string(said), fmt.Sprintf("is held by PID %d (tool block", command))
		return err
	}
	assert.Equal(t, fmt.Sprintf("holdfast: took over the lock of PID %d, which has exited: %s may be half done\n", command, file), string(said))
	return nil
}

func nodeIn(t *testing.T, file string, _ int) error {
	cmd := exec.Command("node", "hold.mjs", "--impl", "later", "--file", file, "--wait", "0")
	cmd.Dir = testenv.Node(t)
	said, err := cmd.CombinedOutput() // its input has ended: it releases at once
	if err != nil {
		assert.Contains(t, string(said), "timed out waiting for the writer lock")
		return err
	}
	assert.Regexp(t, `^held \d+\nreleased\n$`, string(said))
	return nil
}

// TestHandOvers: of many normal ends, beside Node contenders that only poll, none looks like a dead holder or is a loss.
func TestHandOvers(t *testing.T) {
	t.Run("Go alone", func(t *testing.T) { handOver(t, 4) })
	t.Run("beside Node", func(t *testing.T) {
		node := exec.Command("node", "counter.mjs", "--impl", "later", "--pause", "5-20", "--wait", "60000")
		node.Dir = testenv.Node(t)
		handOver(t, 3, node)
	})
}

// handOver has goes shells in turn, and the programs of Node with them, count to 50 each in one file.
func handOver(t *testing.T, goes int, nodes ...*exec.Cmd) {
	const each = 50
	file := filepath.Join(t.TempDir(), "counter.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"n":0}`), 0o600))
	var all sync.WaitGroup
	for _, node := range nodes {
		node.Args = append(node.Args, "--file", file, "--count", strconv.Itoa(each))
		all.Go(func() {
			said, err := node.CombinedOutput()
			assert.NoError(t, err, "%s", said)
		})
	}
	for range goes {
		all.Go(func() {
			for range each {
				said, err := exec.Command("holdfast", "lock", "-v", file, "--", "tool", "increment", file).CombinedOutput()
				assert.NoError(t, err, "%s", said)
				assert.NotRegexp(t, "took over|taken away|dead holder", string(said))
			}
		})
	}
	all.Wait()
	assert.Equal(t, fmt.Sprintf("{\"n\":%d}\n", each*(goes+len(nodes))), content(t, file))
	assert.NoFileExists(t, file+".lock")
}

// TestReleaseBeforeReap: until the lock is released CMD stays a process, to all contenders; and a loss that is found only
// then is none. The release is held up where it says that it begins.
func TestReleaseBeforeReap(t *testing.T) {
	for _, lost := range []bool{false, true} {
		dir := t.TempDir()
		in := func(name string) string { return filepath.Join(dir, name) }
		heard, said := pipe(t)
		cmd := exec.Command("holdfast", "lock", "-v", in("plan"), "--", "tool", "then", "make", in("ready"), "x", ",", "until", in("go"))
		cmd.Stderr = said
		require.NoError(t, cmd.Start())
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		require.NoError(t, toolUntil([]string{in("ready")}))
		command, err := strconv.Atoi(strings.TrimSpace(content(t, in("plan.lock"))))
		require.NoError(t, err)
		fill(t, said)
		said.Close()
		require.NoError(t, toolMake([]string{in("go"), "x"}))
		require.NoError(t, eventually(func() (string, bool) { return "CMD runs", sys.Probe(command).Presence != sys.Present }))
		assert.Equal(t, sys.Exited, sys.Probe(command).Presence)
		assert.Equal(t, "75", how(exec.Command("holdfast", "lock", "-n", in("plan"), "--", "tool", "exit", "0").Run()))
		if lost {
			require.NoError(t, os.Remove(in("plan.lock")))
		}
		_, err = io.Copy(io.Discard, heard)
		require.NoError(t, err)
		assert.Equal(t, "0", how(cmd.Wait()))
		assert.NoFileExists(t, in("plan.lock"))
	}
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	var ends [2]int
	require.NoError(t, unix.Pipe2(ends[:], unix.O_CLOEXEC))
	r, w = os.NewFile(uintptr(ends[0]), "read"), os.NewFile(uintptr(ends[1]), "write")
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

// fill makes the next write to a pipe wait for a reader.
func fill(t *testing.T, w *os.File) {
	t.Helper()
	fd := int(w.Fd())
	require.NoError(t, unix.SetNonblock(fd, true))
	for _, size := range []int{4096, 1} {
		for _, err := unix.Write(fd, make([]byte, size)); err != unix.EAGAIN; _, err = unix.Write(fd, make([]byte, size)) {
			require.NoError(t, err)
		}
	}
	require.NoError(t, unix.SetNonblock(fd, false))
}

// TestKillAfterWhoeverReads: messages that nobody reads keep neither CMD alive nor the lock held.
func TestKillAfterWhoeverReads(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	_, said := pipe(t)
	fill(t, said)
	cmd := exec.Command("holdfast", "lock", "--kill-after", "10ms", in("plan"), "--", "tool", "catch", in("ready"), in("log"), "7", "SIGUSR2")
	cmd.Stderr = said
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	require.NoError(t, toolUntil([]string{in("ready")}))
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	assert.Equal(t, "SIGKILL", how(cmd.Wait()))
	assert.NoFileExists(t, in("plan.lock"))
}

// TestOrphansAreReaped: what CMD leaves behind while it runs and what ends then does not stay as a zombie of ours.
func TestOrphansAreReaped(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	script := "tool run sh -c 'tool then make " + in("orphan") + " x & :'; tool then make " + in("ready") + " x , until " + in("go")
	cmd, _ := started(t, "holdfast", "lock", in("plan"), "--", "sh", "-c", script)
	require.NoError(t, toolUntil([]string{in("ready")}))
	require.NoError(t, toolUntil([]string{in("orphan")}))
	require.NoError(t, eventually(func() (string, bool) {
		zombies, err := filepath.Glob("/proc/[0-9]*/stat")
		require.NoError(t, err)
		for _, stat := range zombies {
			text, _ := os.ReadFile(stat)
			if strings.Contains(string(text), fmt.Sprintf(") Z %d ", cmd.Process.Pid)) {
				return string(text), false
			}
		}
		return "", len(childrenOf(t, cmd.Process.Pid)) == 1
	}))
	require.NoError(t, toolMake([]string{in("go"), "x"}))
	assert.Equal(t, "0", how(cmd.Wait()))
}

// TestStatusThroughPipe: the report ends when we do.
func TestStatusThroughPipe(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close()
	cmd := exec.Command("holdfast", "lock", "--status-fd", "3", filepath.Join(t.TempDir(), "plan"), "--", "tool", "exit", "3")
	cmd.ExtraFiles = []*os.File{w}
	require.NoError(t, cmd.Start())
	w.Close()
	var events []string
	for lines := bufio.NewScanner(r); lines.Scan(); {
		events = append(events, regexp.MustCompile(`"event":"(\w+)"`).FindStringSubmatch(lines.Text())[1])
	}
	assert.Equal(t, []string{"acquired", "started", "exited", "released"}, events)
	assert.Equal(t, "3", how(cmd.Wait()))
}

// Where an end cannot be waited for without reaping, it is waited for all the same.
func TestEndThatIsSeenOnlyByReaping(t *testing.T) {
	dir := t.TempDir()
	file, ran := filepath.Join(dir, "plan"), filepath.Join(dir, "ran")
	for _, verb := range [][]string{{"lock", file}, {"run", "--captured", dir}} {
		t.Run(verb[0], func(t *testing.T) {
			cmd := exec.Command("tool", slices.Concat([]string{"unwaited", "holdfast"}, verb, []string{"--", "sh", "-c", "echo $$ >" + ran + "; exit 3"})...)
			out, _ := cmd.CombinedOutput()
			assert.Equal(t, 3, cmd.ProcessState.ExitCode(), string(out))
			assert.FileExists(t, ran)
			assert.NoFileExists(t, file+".lock")
			require.NoError(t, os.Remove(ran))
		})
	}
}

// A holder of another pid namespace has a number that one of our parents has here, and is not that parent.
func TestHolderOfAnotherPIDNamespace(t *testing.T) {
	testenv.Root(t)
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	holder := exec.Command("tool", "hold", in("plan"), in("ready"), in("enough"))
	holder.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	require.NoError(t, holder.Start())
	t.Cleanup(func() { _ = holder.Process.Kill(); _ = holder.Wait() })
	require.NoError(t, toolUntil([]string{in("ready")}))
	require.Equal(t, "1\n", content(t, in("plan.lock")))
	for _, verb := range []string{"lock", "edit"} {
		cmd := exec.Command("holdfast", verb, "-n", in("plan"), "--", "tool", "exit", "0")
		out, _ := cmd.CombinedOutput()
		assert.Equal(t, exitBusy, cmd.ProcessState.ExitCode(), string(out))
		assert.Regexp(t, `is held by PID 1 of another PID namespace or machine, since \S+; wait longer, or end that process where it runs\n$`, string(out))
	}
	status, w, err := os.Pipe()
	require.NoError(t, err)
	defer status.Close()
	cmd := exec.Command("holdfast", "lock", "--status-fd", "3", "--wait", "10ms", in("plan"), "--", "tool", "exit", "0")
	cmd.ExtraFiles = []*os.File{w}
	_ = cmd.Run()
	w.Close()
	lines, err := io.ReadAll(status)
	require.NoError(t, err)
	assert.Regexp(t, `"waiting".*"pid":null(?s:.*)"busy".*"pid":null`, string(lines))
}

// TestEnvironmentWithARepeatedName: what stands there twice arrives twice.
func TestEnvironmentWithARepeatedName(t *testing.T) {
	holdfast, err := exec.LookPath("holdfast")
	require.NoError(t, err)
	for _, verb := range [][]string{{"lock"}, {"edit", "--create", "x", "--allow-empty"}, {"write", "--allow-empty"}, {"run", "--attached"}} {
		dir := t.TempDir()
		file, seen := filepath.Join(dir, "plan"), filepath.Join(dir, "seen")
		if verb[0] == "run" {
			file = dir
		}
		args := slices.Concat([]string{"holdfast"}, verb, []string{file, "--", "tool", "environ", seen})
		env := append(os.Environ(), "TWICE=1", "nothing", "TWICE=2", "TWICE=1")
		holdfast, err := os.StartProcess(holdfast, args, &os.ProcAttr{Env: env, Files: []*os.File{nil, nil, os.Stderr}})
		require.NoError(t, err)
		end, err := holdfast.Wait()
		require.NoError(t, err)
		assert.True(t, end.Success(), "%v: %v", verb, end)
		assert.Contains(t, content(t, seen), "\x00TWICE=1\x00nothing\x00TWICE=2\x00TWICE=1\x00", verb)
	}
}
