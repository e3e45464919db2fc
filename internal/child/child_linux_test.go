package child

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A program may change its environment before its main begins. What a stub runs must not see that: [TestEnvironment].
func init() {
	if os.Args[0] == stubName {
		os.Setenv("HOLDFAST_TEST_INIT", "1")
		if os.Getenv("HOLDFAST_TEST_BROKEN") != "" {
			_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
			os.Exit(2)
		}
	}
}

// A stub that is killed when it was told to go and has not read that yet ends as its program would have.
func TestKilledWhileOpening(t *testing.T) {
	eachGate(t, func(t *testing.T) {
		files, out := streams(t)
		c := start(t, program(t, files, "program:say", "ran"))
		require.NoError(t, c.Process().Signal(syscall.SIGSTOP))
		opened := opening(t, c)
		require.NoError(t, c.Process().Kill())
		require.NoError(t, <-opened)
		end, err := c.Reap()
		require.NoError(t, err)
		assert.Equal(t, "signal: killed", end.String())
		assert.Empty(t, out.rest())
	})
}

// opening opens the gate of a stub that is being stopped, and returns once the stub could read that.
func opening(t *testing.T, c *Child) (opened chan error) {
	t.Helper()
	require.NoError(t, unix.Waitid(unix.P_PID, c.PID(), nil, unix.WSTOPPED, nil))
	line, err := c.gate.line.SyscallConn()
	require.NoError(t, err)
	opened = make(chan error, 1)
	go func() { opened <- c.Open() }()
	for unread := 0; unread == 0; time.Sleep(time.Millisecond) { // between two looks
		require.NoError(t, line.Control(func(fd uintptr) { unread, err = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ) }))
		require.NoError(t, err)
	}
	return opened
}

// A stub that fails by itself before it has read that it may go on, as where there may be no more threads, is no program that has
// ended with the stub's code.
func TestStubThatFails(t *testing.T) {
	defer useGate(ownGate)()
	files, out := streams(t)
	s := program(t, files, "program:say", "ran")
	s.Env = append(s.Env, "HOLDFAST_TEST_BROKEN=1")
	c := start(t, s)
	opened := opening(t, c)
	require.NoError(t, c.Process().Signal(syscall.SIGCONT))
	assert.ErrorIs(t, <-opened, errEnded)
	assert.Empty(t, out.rest())
}

func TestSignalMask(t *testing.T) {
	eachGate(t, func(t *testing.T) {
		cat := []string{"/bin/cat", "/proc/self/status"}
		shield := []string{"--ignore-signal=HUP", "--block-signal=USR1"}
		want, err := exec.Command("env", append(shield, cat...)...).Output()
		if err != nil {
			t.Skip("env blocks no signals here")
		}
		gate := ownGate
		if !hasGate.Load() {
			gate = shell
		}
		through := append([]string{self(t), "program:through", gate}, cat...)
		got, err := exec.Command("env", append(shield, through...)...).Output()
		require.NoError(t, err)
		for _, key := range []string{"SigBlk:", "SigIgn:"} {
			assert.NotEmpty(t, field(want, key))
			assert.Equal(t, field(want, key), field(got, key), key)
		}
	})
}

func field(status []byte, key string) string {
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, key) {
			return line
		}
	}
	return ""
}

func TestEnviron(t *testing.T) {
	before := Environ()
	assert.Equal(t, os.Environ(), withoutRepeated(before))
	t.Setenv("HOLDFAST_TEST_SET", "1")
	assert.Equal(t, os.Environ(), Environ(), "what this program makes of it counts")

	assert.Equal(t, []string{"A=1", "B", "B", "=x", "C="}, withoutRepeated([]string{"A=1", "B", "A=2", "", "B", "=x", "=y", "C=", "A=1"}))
}
