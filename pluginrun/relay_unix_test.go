//go:build unix

package pluginrun

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// stalled is a writer that takes nothing before it is let go, and then everything.
type stalled struct {
	called, let chan struct{}
	got         bytes.Buffer
}

func newStalled(t testing.TB) *stalled {
	s := &stalled{called: make(chan struct{}, 1), let: make(chan struct{})}
	t.Cleanup(s.letGo)
	return s
}

func (s *stalled) letGo() {
	select {
	case <-s.let:
	default:
		close(s.let)
	}
}

func (s *stalled) Write(p []byte) (int, error) {
	select {
	case s.called <- struct{}{}:
	default:
	}
	<-s.let
	return s.got.Write(p)
}

// A reader that takes nothing does not keep the end of a run: neither of one that is cancelled while it waits for it, nor
// of one that ends by itself. Tail and log have what was printed.
func TestStalledReader(t *testing.T) {
	for _, c := range []struct {
		name, script string
		cancelled    bool
		tail         string
	}{
		{"cancelled while it waits for the reader", "echo changed >package.json; yes", true, "y\n"},
		{"ended with little to say", "echo out", false, "out\n"},
		{"ended with as much as fits", "head -c 100000 /dev/zero; echo out", false, "out\n"},
		{"left something that holds the output", "sleep 1000 & echo $! >child; yes | head -c 100000; echo out", false, "out\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := profile(t)
			reader := newStalled(t)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			if c.cancelled {
				go func() { <-reader.called; cancel() }()
			}
			r, err := New(dir, Program("sh"), KillAfter(10*time.Millisecond), Output(reader, nil)).Run(ctx, "-c", c.script)
			if c.cancelled {
				require.ErrorAs(t, err, new(*CancelledError))
				assert.Equal(t, []string{manifest}, r.Restored)
			} else {
				require.NoError(t, err)
				assert.Zero(t, r.ExitCode)
			}
			assert.True(t, r.OutputCut)
			assert.ErrorIs(t, r.OutputErr, ErrOutputStalled)
			assert.True(t, strings.HasSuffix(string(r.Tail), c.tail), "%q", r.Tail)
			assert.True(t, strings.HasSuffix(read(t, r.Log), c.tail))
			for _, p := range r.Survivors {
				kill(t, p.PID)
			}
			if len(r.Survivors) == 0 {
				settled(t, dir)
			}
		})
	}
}

func kill(t testing.TB, pid int) {
	t.Helper()
	p, err := os.FindProcess(pid)
	require.NoError(t, err)
	require.NoError(t, p.Kill())
}

// A reader that is late gets all of it, in order, and keeps the program waiting meanwhile.
func TestLateReader(t *testing.T) {
	dir := profile(t)
	reader := newStalled(t)
	go func() { <-reader.called; reader.letGo() }()
	r, err := shell(t, dir, "i=0; while [ $i -lt 20000 ]; do echo $i; i=$((i+1)); done", Output(reader, nil))
	require.NoError(t, err)
	require.NoError(t, r.OutputErr)
	assert.False(t, r.OutputCut)
	var want strings.Builder
	for i := range 20000 {
		fmt.Fprintln(&want, i)
	}
	assert.Equal(t, want.String(), reader.got.String())
	assert.Equal(t, want.String(), read(t, r.Log))
}

// Who waits for the reader is not silent, however long.
func TestWaitingIsNotSilence(t *testing.T) {
	reader := newStalled(t)
	op := &operation{sys: osSystem{}, log: silent}
	o := &output{log: discarding{}, started: time.Now()}
	r := relayTo(reader, func(error) {})
	read := make(chan struct{})
	go func() {
		o.copy(op, strings.NewReader(strings.Repeat("y\n", 10*mostRelayed)), r)
		close(read)
	}()
	later := time.Now().Add(time.Hour)
	waits := func() bool { r.mu.Lock(); defer r.mu.Unlock(); return len(r.waiting) >= mostRelayed && r.writing }
	require.Eventually(t, func() bool { return waits() && o.busy.Load() > 0 }, longest, time.Millisecond)
	assert.Zero(t, o.quiet(later))
	reader.letGo()
	<-read
	<-r.done
	assert.Greater(t, o.quiet(later), time.Minute)
	assert.Equal(t, 20*mostRelayed, reader.got.Len())
}

type discarding struct{}

func (discarding) Write(p []byte) (int, error) { return io.Discard.Write(p) }
func (discarding) Close() error                { return nil }

func init() {
	children["oops"] = func(args []string) error {
		_, err := New(args[0], Program("sh"), Output(oops{}, nil)).Run(context.Background(), "-c", "echo new >package.json; echo hi; exit 3")
		return err
	}
}

// oops is a writer with a bug.
type oops struct{}

func (oops) Write([]byte) (int, error) { panic("oops") }

// A writer's panic ends this process as any panic does: it is seen, and the next run restores.
func TestPanicOfAWriter(t *testing.T) {
	dir := profile(t)
	out, err := command("oops", dir).CombinedOutput()
	assert.Error(t, err)
	assert.Contains(t, string(out), "panic: oops")
	assert.Contains(t, string(out), "oops.Write")
	assert.NotContains(t, string(out), "fatal error")
	_, err = shell(t, dir, "")
	require.NoError(t, err)
	assert.Equal(t, "{}\n", read(t, place{dir}.manifest()))
	settled(t, dir)
}
