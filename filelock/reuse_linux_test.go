package filelock

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testenv"
)

const (
	lastPID    = "/proc/sys/kernel/ns_last_pid"
	ownNumbers = "HOLDFAST_TEST_OWN_NUMBERS"
)

// withNumber starts another process with this number, which must be free, to hold the lock of path, which must be free too.
func withNumber(t *testing.T, number int, path string) *child {
	t.Helper()
	for range 200 {
		if err := os.WriteFile(lastPID, []byte(strconv.Itoa(number-1)), 0); err != nil {
			t.Skipf("process numbers cannot be chosen here: %v", err)
		}
		c := start(t, command("nodelike", path))
		if c.cmd.Process.Pid == number {
			return c
		}
		c.kill() // somebody else was faster
		os.Remove(path + lockSuffix)
	}
	t.Skipf("number %d was never free", number)
	return nil
}

// The schedule in takeover.go with real processes: the number of the dead holder is used again between the claim and the
// second probe, by a process that writes the same record, ends, and is followed by a live holder. It runs with process numbers
// of its own, since other tests rely on theirs not to be used again soon.
func TestNumberUsedAgainForReal(t *testing.T) {
	testenv.Root(t)
	if os.Getenv(ownNumbers) == "" {
		cmd := inPIDSpace(exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v"))
		cmd.Env = append(os.Environ(), ownNumbers+"=1")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		if bytes.Contains(out, []byte("--- SKIP")) {
			t.Skip("process numbers cannot be chosen here")
		}
		return
	}
	path := target(t)
	first := start(t, command("nodelike", path))
	require.Equal(t, "held", first.line())
	number := first.cmd.Process.Pid
	first.kill() // dead, its record stays

	atClaim, goOn, ended := make(chan struct{}), make(chan struct{}), make(chan error)
	claims := false
	b := newStepped(func(s step) error {
		if !claims && !s.after && s.op == "linkUnnamed" && s.claim() {
			claims = true
			close(atClaim)
			<-goOn
		}
		return nil
	})
	go func() {
		_, err := acquire(context.Background(), b, newProcess(), path, newOptions([]Option{Wait(0)}))
		ended <- err
	}()
	<-atClaim
	l, err := try(t, path)
	require.NoError(t, err, "A takes over")
	require.NoError(t, l.Release())

	again := withNumber(t, number, path)
	require.Equal(t, "held", again.line())
	assert.Equal(t, fmt.Sprintf("%d\n", number), read(t, path+lockSuffix), "the very record that B judged")
	again.end() // it removes its lock and exits
	a, err := try(t, path)
	require.NoError(t, err, "A acquires")
	close(goOn)
	require.ErrorIs(t, <-ended, ErrHeld)
	assert.NoError(t, a.Check(), "B ended the lock of a live holder")
	require.NoError(t, a.Release())
	assert.Empty(t, entries(t, path))
}

func init() { children["nodelike"] = childNodelike }

// childNodelike FILE: holds as Node does, with a record and nothing else, until its input ends.
func childNodelike(args []string) error {
	f, err := os.OpenFile(args[0]+lockSuffix, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.Write(record(os.Getpid())); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	fmt.Println("held")
	var b [1]byte
	os.Stdin.Read(b[:])
	return os.Remove(args[0] + lockSuffix)
}
