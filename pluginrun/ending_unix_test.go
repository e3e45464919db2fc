//go:build unix

package pluginrun

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/filelock"
)

// noneOf checks that no process of the profile's runs is left.
func noneOf(t testing.TB, dir string) {
	t.Helper()
	id, err := osSystem{}.identify(dir)
	require.NoError(t, err)
	left, err := osSystem{}.marked(profileMark(id))
	require.NoError(t, err)
	assert.Empty(t, left)
}

// A tree that is hard to end: a child that ignores the request, one in a session of its own, one whose parent has ended.
const hardTree = `echo changed >package.json; echo 1 >pnpm-lock.yaml
sh -c 'trap "" TERM HUP; exec sleep 1000' &
setsid sh -c 'exec sleep 1000' &
(setsid sh -c 'trap "" TERM; sleep 1000 & sleep 1000' &)
echo ready
wait`

func TestCancelled(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs a list of processes")
	}
	cause := errors.New("enough")
	for range 3 {
		dir := profile(t)
		was := contents(t, dir)
		ctx, cancel := context.WithCancelCause(context.Background())
		r, err := New(dir, Program("sh"), KillAfter(10*time.Millisecond), Output(when("ready", func() { cancel(cause) }), nil)).
			Run(ctx, "-c", hardTree)
		var cancelled *CancelledError
		require.ErrorAs(t, err, &cancelled)
		require.ErrorIs(t, err, cause)
		require.ErrorIs(t, err, context.Canceled)
		assert.Positive(t, cancelled.PID)
		require.NotNil(t, r)
		assert.Equal(t, []string{"package.json", "pnpm-lock.yaml"}, r.Restored)
		assert.Equal(t, was, contents(t, dir))
		noneOf(t, dir)
		settled(t, dir)
	}
}

// when calls f once it was given text.
func when(text string, f func()) *trigger { return &trigger{text: text, f: f} }

type trigger struct {
	text, seen string
	f          func()
}

func (w *trigger) Write(p []byte) (int, error) {
	if w.seen += string(p); w.f != nil && strings.Contains(w.seen, w.text) {
		w.f()
		w.f = nil
	}
	return len(p), nil
}

// A process that starts while its parents are asked to end is asked as well, and not left until it is killed.
func TestStartedMeanwhile(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs a list of processes")
	}
	dir := profile(t)
	ctx, cancel := context.WithCancel(context.Background())
	r, err := New(dir, Program("sh"), KillAfter(longest), Output(when("ready", cancel), nil)).
		Run(ctx, "-c", "trap 'sleep 1000; exit 9' TERM; echo ready; while :; do sleep 0.01; done")
	require.ErrorAs(t, err, new(*CancelledError))
	assert.Equal(t, 9, r.ExitCode)
	noneOf(t, dir)
}

// At any moment.
func TestCancelledAtRandom(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs a list of processes")
	}
	dir := profile(t)
	was := contents(t, dir)
	for round := range 50 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rand.IntN(60))*time.Millisecond)
		r, err := New(dir, Program("sh"), KillAfter(10*time.Millisecond)).Run(ctx, "-c", hardTree)
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded, "round %d: %+v", round, r)
		require.Equal(t, was, contents(t, dir), "round %d", round)
		noneOf(t, dir)
		settled(t, dir)
	}
	r, err := shell(t, dir, "echo fine >package.json")
	require.NoError(t, err)
	assert.Zero(t, r.ExitCode)
	assert.Nil(t, r.Leftover)
	assert.Equal(t, "fine\n", read(t, filepath.Join(dir, manifest)))
}

// A context that ends before the program runs: nothing ran.
func TestCancelledBefore(t *testing.T) {
	dir := profile(t)
	ctx, cancel := context.WithCancel(context.Background())
	r, err := New(dir, Program("sh"), OnAcquire(func(*filelock.Lock) { cancel() })).Run(ctx, "-c", "touch ran")
	require.ErrorAs(t, err, new(*CancelledError))
	assert.Nil(t, r)
	assert.NoFileExists(t, filepath.Join(dir, "ran"))
	settled(t, dir)

	recordOf(t, dir, sleeper(t).Process.Pid, true)
	ctx, cancel = context.WithCancel(context.Background())
	_, err = New(dir, Program("sh"), OnLeftover(func(*ActiveError) { cancel() })).Run(ctx, "-c", "touch ran")
	require.ErrorAs(t, err, new(*CancelledError))
	assert.NoFileExists(t, filepath.Join(dir, "ran"))
	assert.FileExists(t, place{dir}.record())
}

func TestIdle(t *testing.T) {
	dir := profile(t)
	was := contents(t, dir)
	r, err := shell(t, dir, "echo begun; echo 1 >package.json; sleep 1000", IdleLimit(2*time.Second))
	var idle *IdleError
	require.ErrorAs(t, err, &idle)
	assert.Equal(t, r.Log, idle.Log)
	assert.Contains(t, err.Error(), "printed nothing for 2s")
	assert.Equal(t, "begun\n", string(r.Tail))
	assert.Equal(t, 143, r.ExitCode)
	assert.Equal(t, was, contents(t, dir))
	settled(t, dir)
}

// Whoever prints is not idle.
func TestNotIdle(t *testing.T) {
	dir := profile(t)
	clock := scripted{fire: make(chan func(), 1)}
	r, err := run(context.Background(), clock, newActive(), dir,
		newOptions([]Option{Program("sh"), IdleLimit(time.Hour), Output(when("begun", clock.pass), nil)}), []string{"-c", "echo begun"})
	require.NoError(t, err)
	assert.Zero(t, r.ExitCode)
}

// scripted is a system whose timer can be made to fire early.
type scripted struct {
	osSystem
	fire chan func()
}

func (s scripted) after(d time.Duration, f func()) timer {
	t := s.osSystem.after(d, f)
	if d == time.Hour {
		s.fire <- f
	}
	return t
}

func (s scripted) pass() { (<-s.fire)() }

// A program that has ended well may leave something that holds its output: the run returns within the bound and says so, and
// the record stays as long as that runs.
func TestBackgroundChild(t *testing.T) {
	dir := profile(t)
	began := time.Now()
	r, err := shell(t, dir, "sleep 1000 & echo $! >child; echo done >package.json; echo out")
	require.NoError(t, err)
	assert.Less(t, time.Since(began), longest, "it waited for the child")
	child, err := strconv.Atoi(strings.TrimSpace(read(t, filepath.Join(dir, "child"))))
	require.NoError(t, err)
	defer syscall.Kill(child, syscall.SIGKILL)
	assert.True(t, r.OutputCut)
	assert.Equal(t, "out\n", string(r.Tail))
	assert.Equal(t, "done\n", read(t, filepath.Join(dir, manifest)))
	if runtime.GOOS == "linux" {
		assert.Equal(t, []int{child}, pids(r.Survivors))
	}
	assert.FileExists(t, place{dir}.record())
	assert.Empty(t, copiesIn(t, dir), "it has succeeded")
	assert.NoFileExists(t, place{dir}.manifest()+".lock")

	_, err = shell(t, dir, "", LeftoverWait(0))
	require.ErrorAs(t, err, new(*ActiveError))
	require.NoError(t, syscall.Kill(child, syscall.SIGKILL))
	_, err = shell(t, dir, "", LeftoverWait(10*time.Second))
	require.NoError(t, err)
	assert.Equal(t, "done\n", read(t, filepath.Join(dir, manifest)))
	settled(t, dir)
}

// What a failed run leaves is ended before anything is restored.
func TestBackgroundChildOfAFailure(t *testing.T) {
	dir := profile(t)
	r, err := shell(t, dir, "sh -c 'while :; do echo 1 >package.json; done' >/dev/null 2>&1 & exit 7")
	require.NoError(t, err)
	assert.Equal(t, 7, r.ExitCode)
	assert.Empty(t, r.Survivors)
	assert.Equal(t, "{}\n", read(t, filepath.Join(dir, manifest)))
	noneOf(t, dir)
	settled(t, dir)
}

// stubborn is a system whose processes cannot be ended, and whose clock does not wait for them.
type stubborn struct {
	osSystem
	offset atomic.Int64
}

func (s *stubborn) now() time.Time { return time.Now().Add(time.Duration(s.offset.Load())) }

func (s *stubborn) pause(context.Context, time.Duration) error {
	s.offset.Add(int64(time.Second))
	return nil
}

func (s *stubborn) start(what start) (process, error) {
	p, err := s.osSystem.start(what)
	if err != nil {
		return nil, err
	}
	return unending{p}, nil
}

type unending struct{ process }

func (unending) terminate() bool { return true }
func (unending) kill()           {}

// A tree that does not end: nothing is restored, record and copies stay, the next run restores when it has ended.
func TestSurvivors(t *testing.T) {
	dir := profile(t)
	ctx, cancel := context.WithCancel(context.Background())
	script := "echo changed >package.json; echo $$; exec sleep 1000"
	var program int
	r, err := run(ctx, &stubborn{}, newActive(), dir, newOptions([]Option{
		Program("sh"), OnStart(func(pid int) { program = pid }), Output(when("\n", cancel), nil),
	}), []string{"-c", script})
	defer syscall.Kill(program, syscall.SIGKILL)
	var survivors *SurvivorsError
	require.ErrorAs(t, err, &survivors)
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, survivors.Processes, 1)
	assert.Equal(t, program, survivors.Processes[0].PID)
	assert.Equal(t, survivors.Processes, r.Survivors)
	assert.Contains(t, err.Error(), fmt.Sprintf("PID %d", program))
	assert.Equal(t, -1, r.ExitCode)
	assert.Equal(t, "changed\n", read(t, filepath.Join(dir, manifest)))
	assert.FileExists(t, place{dir}.record())
	assert.Len(t, copiesIn(t, dir), 1)
	assert.NoFileExists(t, place{dir}.manifest()+".lock")

	require.NoError(t, syscall.Kill(program, syscall.SIGKILL))
	r, err = shell(t, dir, "cat package.json")
	require.NoError(t, err)
	assert.Equal(t, "{}\n", string(r.Tail))
	settled(t, dir)
}

// The lock is taken away: the tree is ended, nothing is restored, and nobody will.
func TestLostLock(t *testing.T) {
	dir := profile(t)
	write(t, filepath.Join(dir, "pnpm-lock.yaml"), "before\n")
	lock := place{dir}.manifest() + ".lock"
	r, err := shell(t, dir, "echo changed >package.json; echo ready; exec sleep 1000",
		Output(when("ready", func() { os.Remove(lock) }), nil))
	require.ErrorIs(t, err, filelock.ErrLost)
	var lost *LostError
	require.ErrorAs(t, err, &lost)
	assert.NotEqual(t, 0, r.ExitCode)
	assert.Empty(t, r.Restored)
	assert.Equal(t, "changed\n", read(t, filepath.Join(dir, manifest)))
	assert.Equal(t, "{}\n", read(t, filepath.Join(lost.Aside, "0")))
	assert.Equal(t, "before\n", read(t, filepath.Join(lost.Aside, "1")))
	noneOf(t, dir)
	settled(t, dir)

	// a success stays one
	_, err = shell(t, dir, "echo done >package.json; exec rm package.json.lock")
	require.ErrorAs(t, err, &lost)
	assert.Empty(t, lost.Aside)
	assert.Equal(t, "done\n", read(t, filepath.Join(dir, manifest)))
	settled(t, dir)
}
