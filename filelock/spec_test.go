package filelock

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/spec"
)

func init() { children["outcome"] = childOutcome }

func TestSpecRecords(t *testing.T) {
	type row struct {
		spec.Case
		Bytes spec.Bytes `json:"bytes"`
		Want  *int       `json:"want"`
	}
	spec.Run(t, "records.json", func(t *testing.T, c row) {
		pid, ok := parseRecord(c.Bytes)
		assert.Equal(t, c.Want != nil, ok)
		if ok && c.Want != nil {
			assert.Equal(t, *c.Want, pid)
		}
	})
}

func TestSpecClaimNames(t *testing.T) {
	type row struct {
		spec.Case
		Lock  string     `json:"lock"`
		Bytes spec.Bytes `json:"bytes"`
		Want  string     `json:"want"`
	}
	spec.Run(t, "claim-names.json", func(t *testing.T, c row) {
		assert.Equal(t, c.Want, claimName(c.Lock, c.Bytes))
	})
}

func TestSpecWaitSchedule(t *testing.T) {
	type row struct {
		spec.Case
		Wait int   `json:"wait"`
		Want []int `json:"want"`
	}
	spec.Run(t, "wait-schedule.json", func(t *testing.T, c row) {
		path := target(t)
		write(t, path+lockSuffix, []byte("somebody\n"))
		var at []int
		s := newStepped(nil)
		s.pauseFor = true
		s.on = func(step step) error {
			if step.op == "lstat" && step.lock() && !step.after {
				at = append(at, int(s.virtual/time.Millisecond))
			}
			return nil
		}
		_, err := acquireFor(t, s, newProcess(), path, Wait(time.Duration(c.Wait)*time.Millisecond))
		require.ErrorIs(t, err, ErrHeld)
		assert.Equal(t, c.Want, at)
	})
}

const specWait = 50 * time.Millisecond

func TestSpecLock(t *testing.T) {
	type row struct {
		spec.Case
		Before spec.Tree `json:"before"`
		During spec.Tree `json:"during"`
		Full   bool      `json:"full"`
		Want   struct {
			Outcome string    `json:"outcome"`
			After   spec.Tree `json:"after"`
		} `json:"want"`
		RC8   json.RawMessage `json:"rc8"` // Node's
		Later json.RawMessage `json:"later"`
	}
	dead := deadPID(t)
	live := start(t, command("idle"))
	digits := func(record []byte) string { return strings.TrimPrefix(claimName("", record), ".takeover-") }
	values := []string{
		"{dead}", strconv.Itoa(dead), "{live}", strconv.Itoa(live.cmd.Process.Pid), "{self}", strconv.Itoa(os.Getpid()),
		"{claim}", digits(record(dead)), "{claim00}", digits(append([]byte("00"), record(dead)...)),
	}
	spec.Run(t, "lock.json", func(t *testing.T, c row) {
		dir := t.TempDir()
		c.Before.Fill(values...).Make(t, dir)
		path := filepath.Join(dir, "f")
		if c.Full {
			assert.Equal(t, c.Want.Outcome, withoutRoom(t, path))
		} else {
			s := newStepped(nil)
			s.pauseFor = true
			l, err := acquireFor(t, s, newProcess(), path, Wait(specWait))
			if err == nil {
				c.During.Fill(values...).Make(t, dir)
				err = l.Release()
			}
			assert.Equal(t, c.Want.Outcome, outcomeOf(err))
		}
		c.Want.After.Fill(values...).Check(t, dir)
	})
}

func outcomeOf(err error) string {
	switch {
	case err == nil:
		return "acquired"
	case errors.Is(err, ErrHeld):
		return "timed out"
	case errors.Is(err, ErrLost):
		return "lost"
	case errors.Is(err, syscall.EFBIG):
		return "EFBIG"
	default:
		return err.Error()
	}
}

// withoutRoom is the outcome in a process that cannot make any file grow.
func withoutRoom(t *testing.T, path string) string {
	t.Helper()
	cmd := command("outcome", path)
	limited := exec.Command("sh", append([]string{"-c", `ulimit -f 0; exec "$@"`, "sh"}, cmd.Args...)...)
	limited.Env = cmd.Env
	out, err := limited.Output()
	require.NoError(t, err)
	return string(out)
}

// childOutcome FILE: prints the outcome of an acquisition that is released at once.
func childOutcome(args []string) error {
	l, err := Acquire(context.Background(), args[0], Wait(specWait))
	if err == nil {
		err = l.Release()
	}
	fmt.Print(outcomeOf(err))
	return nil
}
