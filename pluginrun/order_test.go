//go:build unix

package pluginrun

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// order is what a process of ours is told to run.
type order struct {
	Dir, Program string
	Args         []string
	LeftoverWait time.Duration // 0: the default
}

// report is what became of it.
type report struct {
	Result    *Result
	Error     string
	Active    *ActiveError
	Reentrant bool
	Took      time.Duration
}

func init() { children["order"] = childOrder }

// childOrder ORDER: prints "started" when the program runs, "waiting" with the *ActiveError of a recorded run that it waits
// for, and "done" with the report.
func childOrder(args []string) error {
	var o order
	if err := json.Unmarshal([]byte(args[0]), &o); err != nil {
		return err
	}
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, childEnv+"=") })
	began := time.Now()
	result, err := New(o.Dir, Program(o.Program), Env(env), LeftoverWait(cmp.Or(o.LeftoverWait, DefaultLeftoverWait)),
		OnStart(func(pid int) { tell("started", pid) }),
		OnLeftover(func(e *ActiveError) { tell("waiting", e) }),
	).Run(context.Background(), o.Args...)
	r := report{Result: result, Reentrant: errors.Is(err, ErrReentrant), Took: time.Since(began)}
	if err != nil {
		r.Error = err.Error()
		errors.As(err, &r.Active)
	}
	tell("done", r)
	return nil
}

func tell(what string, detail any) {
	line, err := json.Marshal(detail)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s %s\n", what, line)
}

// ordered is a process of ours that carries out an order.
type ordered struct {
	t   testing.TB
	cmd *exec.Cmd
	out *bufio.Reader
}

// order starts a process of ours; it ends with the test at the latest.
func (m manager) order(o order) *ordered {
	m.t.Helper()
	o.Program = cmp.Or(o.Program, m.program())
	line, err := json.Marshal(o)
	require.NoError(m.t, err)
	cmd := command("order", string(line))
	cmd.Env = append(slices.Clone(m.env), childEnv+"=order")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(m.t, err)
	c := &ordered{m.t, cmd, bufio.NewReader(out)}
	_, err = cmd.StdinPipe() // stays open and silent
	require.NoError(m.t, err)
	require.NoError(m.t, cmd.Start())
	bound := time.AfterFunc(longest, func() { cmd.Process.Kill() })
	m.t.Cleanup(func() {
		bound.Stop()
		cmd.Process.Kill()
		cmd.Wait()
	})
	return c
}

// hears waits for the next thing that the process tells, which must be what.
func (c *ordered) hears(what string, detail any) {
	c.t.Helper()
	said := c.next(detail)
	require.Equal(c.t, what, said)
}

func (c *ordered) next(detail any) (what string) {
	c.t.Helper()
	line, err := c.out.ReadBytes('\n')
	require.NoError(c.t, err, "the process ended after %q", line)
	word, rest, _ := bytes.Cut(line, []byte(" "))
	require.NoError(c.t, json.Unmarshal(rest, detail), "%s", line)
	return string(word)
}

// done waits for the process' end and returns its report.
func (c *ordered) done() (r report) {
	c.t.Helper()
	for {
		var detail json.RawMessage
		if c.next(&detail) == "done" {
			require.NoError(c.t, json.Unmarshal(detail, &r))
			require.NoError(c.t, c.cmd.Wait())
			return r
		}
	}
}

// succeeded demands that the program ran and ended with 0.
func (r report) succeeded(t testing.TB) {
	t.Helper()
	require.Empty(t, r.Error)
	require.Zero(t, r.Result.ExitCode, "%s", r.Result.Tail)
}

// kill ends the process as kill -9 does and waits until it is reaped.
func (c *ordered) kill() {
	c.t.Helper()
	require.NoError(c.t, c.cmd.Process.Kill())
	_, err := c.cmd.Process.Wait()
	require.NoError(c.t, err)
}
