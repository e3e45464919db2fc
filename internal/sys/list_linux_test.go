package sys

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/holdfast-go/holdfast/internal/testenv"
)

// groupEnv holds the number of a group that this test binary is to probe, as another user.
const groupEnv = "HOLDFAST_TEST_GROUP"

func TestMain(m *testing.M) {
	if group, err := strconv.Atoi(os.Getenv(groupEnv)); err == nil {
		os.Exit(int(ProbeGroup(group)))
	}
	if pid := os.Getenv(unreadableEnv); pid != "" {
		listWithUnreadable(pid)
		os.Exit(0)
	}
	os.Exit(testenv.Run(m))
}

// idle starts a program that ends with its input, which ends with the test.
func idle(t *testing.T, attr *syscall.SysProcAttr, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/bin/cat")
	cmd.Env, cmd.SysProcAttr = append([]string{}, env...), attr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	_, err = in.Write([]byte{'x'})
	require.NoError(t, err)
	_, err = io.ReadFull(out, make([]byte, 1)) // it runs, its environment is there
	require.NoError(t, err)
	return cmd
}

// end ends a program and leaves it unreaped.
func end(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	require.NoError(t, cmd.Process.Kill())
	require.NoError(t, unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil))
}

func find(t *testing.T, pid int) (found []Listed) {
	t.Helper()
	list, err := Processes()
	require.NoError(t, err)
	for _, l := range list {
		if l.PID == pid {
			found = append(found, l)
		}
	}
	return found
}

func TestProcesses(t *testing.T) {
	cmd := idle(t, &syscall.SysProcAttr{Setpgid: true})
	pid := cmd.Process.Pid
	assert.Equal(t, []Listed{{PID: pid, Parent: os.Getpid(), Group: pid, Start: Probe(pid).Start}}, find(t, pid))
	assert.NotZero(t, Probe(pid).Start)
	end(t, cmd)
	assert.Empty(t, find(t, pid), "ended and not reaped")
	require.Len(t, find(t, os.Getpid()), 1)
}

// At no moment is a process without the variables with which it executes one program after the other.
func TestEnvironmentOfExecuting(t *testing.T) {
	script := filepath.Join(t.TempDir(), "again")
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\nexec \"$0\"\n"), 0o700))
	cmd := exec.Command(script)
	cmd.Env = []string{"MARK=1"}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	for range 20_000 {
		block, err := Environment(cmd.Process.Pid)
		require.NoError(t, err)
		require.Contains(t, string(block), "MARK=1\x00")
	}
}

func TestEnvironment(t *testing.T) {
	cmd := idle(t, nil, "A=1\n2", "B=")
	block, err := Environment(cmd.Process.Pid)
	require.NoError(t, err)
	assert.Equal(t, "A=1\n2\x00B=\x00", string(block))
	none, err := hasNone(cmd.Process.Pid)
	require.NoError(t, err)
	assert.False(t, none)

	without := idle(t, nil).Process.Pid
	block, err = Environment(without)
	require.NoError(t, err)
	assert.Empty(t, block)
	none, err = hasNone(without)
	require.NoError(t, err)
	assert.True(t, none, "it is not waited for")

	end(t, cmd)
	block, _ = Environment(cmd.Process.Pid)
	assert.Empty(t, block)
	cmd.Wait()
	_, err = Environment(cmd.Process.Pid)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestSignalProcess(t *testing.T) {
	cmd := idle(t, nil)
	listed := find(t, cmd.Process.Pid)[0]
	later := listed
	later.Start++
	require.ErrorIs(t, SignalProcess(later, syscall.SIGKILL), unix.ESRCH, "its number is used again")
	assert.Equal(t, Present, Probe(listed.PID).Presence)
	require.NoError(t, SignalProcess(listed, syscall.SIGTERM))
	cmd.Wait()
	assert.Equal(t, syscall.SIGTERM, cmd.ProcessState.Sys().(syscall.WaitStatus).Signal())
	require.ErrorIs(t, SignalProcess(listed, syscall.SIGTERM), unix.ESRCH)
}

func TestProbeGroup(t *testing.T) {
	leader := idle(t, &syscall.SysProcAttr{Setpgid: true})
	group := leader.Process.Pid
	member := idle(t, &syscall.SysProcAttr{Setpgid: true, Pgid: group})
	assert.Equal(t, Present, ProbeGroup(group))
	assert.Equal(t, Absent, ProbeGroup(member.Process.Pid), "a process, no group")
	end(t, leader)
	assert.Equal(t, Present, ProbeGroup(group), "its leader has ended")
	leader.Wait()
	assert.Equal(t, Present, ProbeGroup(group), "its leader is reaped")
	end(t, member)
	assert.Equal(t, Exited, ProbeGroup(group))
	member.Wait()
	assert.Equal(t, Absent, ProbeGroup(group))

	for _, none := range []int{1, 0, -1, -os.Getpid()} {
		assert.Equal(t, Unknown, ProbeGroup(none), strconv.Itoa(none))
	}
}

func TestProbeGroupOfAnotherUser(t *testing.T) {
	testenv.Root(t)
	binary := filepath.Join(t.TempDir(), "test") // this one may lie where only root may go
	for d := filepath.Dir(binary); d != filepath.Clean(os.TempDir()); d = filepath.Dir(d) {
		require.NoError(t, os.Chmod(d, 0o755))
	}
	content, err := os.ReadFile("/proc/self/exe")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(binary, content, 0o755))
	probe := func(group int) Presence {
		cmd := exec.Command(binary)
		cmd.Dir, cmd.Env = "/", []string{groupEnv + "=" + strconv.Itoa(group)}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, _ := cmd.CombinedOutput()
		assert.Empty(t, string(out))
		return Presence(cmd.ProcessState.ExitCode())
	}
	cmd := idle(t, &syscall.SysProcAttr{Setpgid: true})
	group := cmd.Process.Pid
	assert.Equal(t, Forbidden, probe(group))
	end(t, cmd)
	assert.Equal(t, Exited, probe(group))
	cmd.Wait()
	assert.Equal(t, Absent, probe(group))
}

func TestBecomeReaper(t *testing.T) {
	require.NoError(t, BecomeReaper())
	cmd := exec.Command("/bin/sh", "-c", "exec 3<&0; /bin/cat <&3 >/dev/null & echo $!")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := io.ReadAll(out)
	require.NoError(t, err)
	orphan, err := strconv.Atoi(strings.TrimSpace(string(line)))
	require.NoError(t, err)
	defer syscall.Wait4(orphan, nil, 0, nil)
	defer out.Close()
	defer in.Close()
	_, err = cmd.Process.Wait() // not cmd.Wait, which would end the orphan's input
	require.NoError(t, err)
	require.Len(t, find(t, orphan), 1)
	assert.Equal(t, os.Getpid(), find(t, orphan)[0].Parent)
}

// Without descriptors to read them with, processes and groups are not known, and not gone.
func TestShortage(t *testing.T) {
	cmd := idle(t, &syscall.SysProcAttr{Setpgid: true})
	pid := cmd.Process.Pid
	listed := find(t, pid)[0]
	for left := range 3 {
		t.Run(strconv.Itoa(left)+" left", func(t *testing.T) {
			enough := testenv.Shortage(t, left)
			defer enough()
			list, listing := Processes()
			_, environment := Environment(pid)
			probed := ProbeGroup(pid)
			signalled := SignalProcess(listed, syscall.Signal(0))
			enough()
			if left < 2 {
				require.ErrorIs(t, signalled, unix.EMFILE)
			}
			if left < 1 {
				require.ErrorIs(t, listing, unix.EMFILE)
				require.ErrorIs(t, environment, unix.EMFILE)
			}
			assert.True(t, listing != nil || slices.Contains(list, listed), "an error, or all of them")
			assert.Equal(t, Present, probed)
		})
	}
	end(t, cmd)
	assert.Equal(t, Exited, ProbeGroup(pid))
}

// One process that cannot be read, not even to see that it is another's, leaves the list unknown.
func TestUnreadableProcess(t *testing.T) {
	testenv.Root(t)
	cmd := idle(t, nil)
	listing := exec.Command("/proc/self/exe")
	listing.Env = []string{unreadableEnv + "=" + strconv.Itoa(cmd.Process.Pid)}
	listing.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	out, err := listing.CombinedOutput()
	require.NoError(t, err)
	assert.Equal(t, "0 input/output error\n", string(out))
}

// unreadableEnv holds the number of a process that cannot be read once it is set.
const unreadableEnv = "HOLDFAST_TEST_UNREADABLE"

// listWithUnreadable prints how many processes are listed while one's state is what reading address 0 gives.
func listWithUnreadable(pid string) {
	err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "")
	if err == nil {
		err = syscall.Mount("/proc/self/mem", "/proc/"+pid+"/stat", "", syscall.MS_BIND, "")
	}
	list, listing := Processes()
	var errno syscall.Errno
	errors.As(listing, &errno)
	fmt.Println(len(list), errors.Join(err, errno))
}
