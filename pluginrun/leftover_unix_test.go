//go:build unix

package pluginrun

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/holdfast-go/holdfast/internal/attribute"
	"github.com/holdfast-go/holdfast/internal/sys"
	"github.com/holdfast-go/holdfast/internal/testenv"
)

// sleeper is a process, the leader of its own group, that lives until the test ends it.
func sleeper(t testing.TB, change ...func(*exec.Cmd)) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	for _, c := range change {
		c(cmd)
	}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { end(cmd) })
	return cmd
}

func end(cmd *exec.Cmd) {
	cmd.Process.Kill()
	cmd.Wait()
}

func TestRecordsThatNameNoRun(t *testing.T) {
	for _, record := range []string{
		"", "{", "[]", "null", `"1"`, `{"pid":0,"grouped":true}`, `{"pid":1.5,"grouped":true}`, `{"pid":1}`, `{"pid":"1","grouped":false}`,
		`{"pid":null,"grouped":true}`, `{"pid":-4,"grouped":true}`, `{"pid":1,"grouped":null}`, `{"PID":1,"grouped":true}`,
		strings.Repeat(" ", longestRecord) + `{"pid":1,"grouped":true}`,
	} {
		dir := profile(t)
		recordOf(t, dir, 1, true)
		write(t, place{dir}.record(), record)
		began := time.Now()
		_, err := shell(t, dir, "touch ran", LeftoverWait(longest))
		var names *RecordError
		require.ErrorAs(t, err, &names, "%q", record)
		assert.Equal(t, place{dir}.record(), names.Record)
		assert.Less(t, time.Since(began), longest, "it is not waited for")
		assert.NoFileExists(t, filepath.Join(dir, "ran"))
		assert.Equal(t, record, read(t, place{dir}.record()))
		assert.NoFileExists(t, filepath.Join(dir, manifest+".lock"))
	}
}

func TestRecordThatIsNoFile(t *testing.T) {
	for name, make := range map[string]func(path string) error{
		"directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"FIFO":      func(path string) error { return unix.Mkfifo(path, 0o600) },
		"link":      func(path string) error { return os.Symlink("../package.json", path) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := profile(t)
			require.NoError(t, os.Mkdir(place{dir}.own(), 0o700))
			require.NoError(t, make(place{dir}.record()))
			_, err := shell(t, dir, "")
			var names *RecordError
			require.ErrorAs(t, err, &names)
			assert.Equal(t, "it is not a regular file", names.Why)
			_, err = os.Lstat(place{dir}.record())
			assert.NoError(t, err)
		})
	}
}

// A recorded run that goes on is refused after the wait, by name; once it has stopped, the next run goes on.
func TestActiveRun(t *testing.T) {
	for _, grouped := range []bool{true, false} {
		dir := profile(t)
		other := sleeper(t)
		recordOf(t, dir, other.Process.Pid, grouped)
		var told *ActiveError
		_, err := shell(t, dir, "touch ran", LeftoverWait(300*time.Millisecond), OnLeftover(func(e *ActiveError) { told = e }))
		var active *ActiveError
		require.ErrorAs(t, err, &active)
		require.NotNil(t, told)
		assert.EqualValues(t, other.Process.Pid, active.PID)
		assert.Equal(t, grouped, active.Grouped)
		assert.Equal(t, place{dir}.record(), active.Record)
		assert.GreaterOrEqual(t, active.Waited, 300*time.Millisecond)
		if runtime.GOOS == "linux" {
			assert.Equal(t, []Process{{other.Process.Pid, "sleep 1000"}}, active.Processes)
		}
		assert.Contains(t, err.Error(), fmt.Sprintf("PID %d", other.Process.Pid))
		assert.Contains(t, err.Error(), active.Record)
		assert.NoFileExists(t, filepath.Join(dir, "ran"))
		assert.FileExists(t, active.Record)

		state, err := Inspect(dir)
		require.NoError(t, err)
		assert.Equal(t, Running, state.Verdict)
		assert.EqualValues(t, other.Process.Pid, state.PID)

		end(other)
		state, err = Inspect(dir)
		require.NoError(t, err)
		assert.Equal(t, Stopped, state.Verdict)
		r, err := shell(t, dir, "", LeftoverWait(0))
		require.NoError(t, err)
		require.NotNil(t, r.Leftover)
		assert.EqualValues(t, other.Process.Pid, r.Leftover.PID)
		settled(t, dir)
		state, err = Inspect(dir)
		require.NoError(t, err)
		assert.False(t, state.Recorded)
	}
}

// A run that stops while it is waited for.
func TestRunStopsMeanwhile(t *testing.T) {
	dir := profile(t)
	other := sleeper(t)
	recordOf(t, dir, other.Process.Pid, true)
	r, err := shell(t, dir, "", OnLeftover(func(*ActiveError) { end(other) }))
	require.NoError(t, err)
	require.NotNil(t, r.Leftover)
	assert.Contains(t, []string{noSuchGroup, notReaped}, r.Leftover.Proof)
	assert.Positive(t, r.Leftover.Waited)
}

// Of a group whose leader has ended, the rest is the run.
func TestGroupWithoutLeader(t *testing.T) {
	dir := profile(t)
	leader := sleeper(t)
	member := sleeper(t, func(c *exec.Cmd) { c.SysProcAttr.Pgid = leader.Process.Pid })
	recordOf(t, dir, leader.Process.Pid, true)
	end(leader)
	_, err := shell(t, dir, "", LeftoverWait(0))
	require.ErrorAs(t, err, new(*ActiveError))
	end(member)
	_, err = shell(t, dir, "", LeftoverWait(0))
	require.NoError(t, err)
}

// A group of which only members are left that nobody reaps has stopped.
func TestGroupOfUnreaped(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("the system does not tell the unreaped from the living")
	}
	dir := profile(t)
	cmd := sleeper(t)
	recordOf(t, dir, cmd.Process.Pid, true)
	require.NoError(t, cmd.Process.Kill())
	require.Eventually(t, func() bool { return sys.Probe(cmd.Process.Pid).Presence == sys.Exited }, 10*time.Second, time.Millisecond)
	r, err := shell(t, dir, "", LeftoverWait(0))
	require.NoError(t, err)
	assert.Equal(t, notReaped, r.Leftover.Proof)
}

// The attribute tells a run of before a reboot, or of an earlier process with the same number.
func TestNumberUsedAgain(t *testing.T) {
	for proof, change := range map[string]func(*attribute.Attribute){
		bootDiffers:  func(a *attribute.Attribute) { a.Boot[3]++ },
		startDiffers: func(a *attribute.Attribute) { a.Start++ },
	} {
		t.Run(proof, func(t *testing.T) {
			dir := profile(t)
			other := sleeper(t)
			me := sys.Me()
			if me.Start == 0 {
				t.Skip("no start times here")
			}
			me.PID, me.Start = other.Process.Pid, sys.Probe(other.Process.Pid).Start
			a := attribute.New(me, 0, false, true, time.Now())
			recordOf(t, dir, other.Process.Pid, true)
			if unix.Setxattr(place{dir}.record(), attribute.Name, a.Append(nil), 0) != nil {
				t.Skip("no attributes here")
			}
			_, err := shell(t, dir, "", LeftoverWait(0))
			require.ErrorAs(t, err, new(*ActiveError), "as it is")

			change(&a)
			require.NoError(t, unix.Setxattr(place{dir}.record(), attribute.Name, a.Append(nil), 0))
			r, err := shell(t, dir, "", LeftoverWait(0))
			require.NoError(t, err)
			assert.Equal(t, proof, r.Leftover.Proof)
		})
	}
}

// A run of another user, who may not be signalled, goes on.
func TestRunOfAnotherUser(t *testing.T) {
	testenv.Root(t)
	dir := profile(t)
	recordOf(t, dir, sleeper(t).Process.Pid, true)
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, _ error) error { return os.Chown(path, 65534, 65534) }))
	for up := dir; up != filepath.Clean(os.TempDir()) && up != "/"; up = filepath.Dir(up) {
		require.NoError(t, os.Chmod(up, 0o755))
	}
	cmd := exec.Command(binaryFor(t, 65534), dir)
	cmd.Env = append(os.Environ(), childEnv+"=run")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(out), "has not stopped: PID ")
}

// binaryFor is this test binary where another user can run it.
func binaryFor(t *testing.T, uid int) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "holdfast")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	data, err := os.ReadFile(os.Args[0])
	require.NoError(t, err)
	path := filepath.Join(dir, "test")
	require.NoError(t, os.WriteFile(path, data, 0o755))
	require.NoError(t, os.Chown(path, uid, uid))
	return path
}

func init() { children["run"] = childRun }

// childRun DIR [SCRIPT]: one run, refused at once if another goes on. It prints the program's number once that runs.
func childRun(args []string) error {
	script := strings.Join(args[1:], " ")
	r, err := New(args[0], Program("sh"), LeftoverWait(0), OnStart(func(pid int) { fmt.Println(pid) })).Run(context.Background(), "-c", script)
	if err == nil && r.ExitCode != 0 {
		err = fmt.Errorf("exit %d", r.ExitCode)
	}
	return err
}

// startRun starts a manager whose program runs script, and returns when it runs.
func startRun(t testing.TB, dir, script string) (manager *exec.Cmd, program int) {
	t.Helper()
	manager = command("run", dir, script)
	manager.Stderr = os.Stderr
	out, err := manager.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, manager.Start())
	t.Cleanup(func() { end(manager) })
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	program, err = strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)
	t.Cleanup(func() { syscall.Kill(-program, syscall.SIGKILL) })
	go io.Copy(io.Discard, out)
	return manager, program
}

// A manager is killed while its program runs: the record names what goes on; what left group and session is found by its
// mark, with or without the record.
func TestKilledManager(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs a list of processes")
	}
	dir := profile(t)
	manager, program := startRun(t, dir, `echo changed >package.json
setsid sh -c 'echo $$ >far.tmp; mv far.tmp far; exec sleep 1000' &
while ! test -f far; do :; done
exec sleep 1000`)
	require.Eventually(t, func() bool { _, err := os.Stat(filepath.Join(dir, "far")); return err == nil }, 10*time.Second, time.Millisecond)
	far, err := strconv.Atoi(strings.TrimSpace(read(t, filepath.Join(dir, "far"))))
	require.NoError(t, err)
	defer syscall.Kill(far, syscall.SIGKILL)
	require.Eventually(t, func() bool { // and mv has ended
		name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", far))
		return string(name) == "sleep\n"
	}, 10*time.Second, time.Millisecond)
	end(manager)
	assert.Equal(t, fmt.Sprintf("{\"pid\":%d,\"grouped\":true}\n", program), read(t, place{dir}.record()))

	var active *ActiveError
	_, err = shell(t, dir, "", LeftoverWait(0))
	require.ErrorAs(t, err, &active)
	assert.ElementsMatch(t, []int{program, far}, pids(active.Processes))

	require.NoError(t, syscall.Kill(program, syscall.SIGKILL))
	require.Eventually(t, func() bool { return sys.ProbeGroup(program) != sys.Present }, 10*time.Second, time.Millisecond)
	_, err = shell(t, dir, "", LeftoverWait(0))
	require.ErrorAs(t, err, &active)
	assert.Equal(t, []int{far}, pids(active.Processes))

	require.NoError(t, os.Rename(place{dir}.record(), filepath.Join(dir, "record")))
	_, err = shell(t, dir, "", LeftoverWait(0))
	require.ErrorAs(t, err, &active, "without a record")
	assert.Empty(t, active.Record)
	require.NoError(t, os.Rename(filepath.Join(dir, "record"), place{dir}.record()))

	require.NoError(t, syscall.Kill(far, syscall.SIGKILL))
	r, err := shell(t, dir, "cat package.json", LeftoverWait(10*time.Second))
	require.NoError(t, err)
	assert.Equal(t, "{}\n", string(r.Tail), "what the killed run had changed was restored first")
	require.NotNil(t, r.Leftover)
	settled(t, dir)
}

func pids(processes []Process) (list []int) {
	for _, p := range processes {
		list = append(list, p.PID)
	}
	return list
}
