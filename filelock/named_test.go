package filelock

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func init() { children["named"] = childNamed }

// childNamed PLACE SCOPE NAME WAIT: prints "held PID" and whom it was told of, or its error, and then does what it is told:
// "release", "exit", "panic" or "child", which starts one that does nothing and prints its line.
func childNamed(args []string) error {
	wait, err := time.ParseDuration(args[3])
	if err != nil {
		return err
	}
	l, err := namedIn(args[0], Scope(args[1]), args[2], Wait(wait)).Acquire(context.Background())
	if err != nil {
		fmt.Println(family(err), "|", err)
		return nil
	}
	told := "nobody"
	if t, ok := TakeoverOf(l); ok {
		told = fmt.Sprintf("%d %s", t.PID, t.Proof)
	}
	fmt.Printf("held %d told of %s\n", os.Getpid(), told)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		switch in.Text() {
		case "release":
			fmt.Println("released", l.Release())
		case "exit":
			os.Exit(0)
		case "panic":
			panic("as told")
		case "child":
			cmd := command("idle")
			cmd.Stdout = os.Stdout
			in, err := cmd.StdinPipe()
			if err != nil {
				return err
			}
			defer in.Close()
			if err := cmd.Start(); err != nil {
				return err
			}
		}
	}
	return l.Release()
}

func family(err error) string {
	for of, name := range map[error]string{ErrHeld: "held", ErrMisconfigured: "misconfigured", ErrReentrant: "reentrant"} {
		if errors.Is(err, of) {
			return name
		}
	}
	return "error"
}

// namedIn is a lock as a process of its own would see it, with the place for locks that newPlace returned.
func namedIn(place string, scope Scope, name string, opts ...Option) namedLocker {
	return namedLocker{machineAt(place), newKernelTable(), name, scope, newOptions(opts)}
}

// newName is a name that nothing else uses: on Windows a test has no place of its own.
func newName() string { return "test " + rand.Text() }

func mustNamed(t testing.TB, l Locker) Lease {
	t.Helper()
	lease, err := l.TryAcquire(context.Background())
	require.NoError(t, err)
	t.Cleanup(func() { lease.Release() })
	return lease
}

func namedHeld(t testing.TB, l Locker) *HeldError {
	t.Helper()
	lease, err := l.TryAcquire(context.Background())
	if err == nil {
		lease.Release()
		require.Fail(t, "the lock should be held")
	}
	var held *HeldError
	require.ErrorAs(t, err, &held)
	return held
}

func startNamed(t testing.TB, cmd *exec.Cmd) *child {
	t.Helper()
	cmd.Stderr = &strings.Builder{}
	return start(t, cmd)
}

func (c *child) say(line string) {
	c.t.Helper()
	_, err := fmt.Fprintln(c.in, line)
	require.NoError(c.t, err)
}

// quick spares a process of the race detector's the second for which it waits at its end.
const quick = "GORACE=atexit_sleep_ms=0"

func namedCommand(place string, scope Scope, name string) *exec.Cmd {
	cmd := command("named", place, string(scope), name, "0s")
	cmd.Env = append(cmd.Env, quick)
	return cmd
}

var scopes = []Scope{AllUsers, CurrentUser, Group(someGroup)}

func TestNamedIsHeldUntilReleased(t *testing.T) {
	place := newPlace(t)
	for _, scope := range scopes {
		name := newName()
		l := mustNamed(t, namedIn(place, scope, name, Shared()))
		assert.NoError(t, l.Err())
		_, told := TakeoverOf(l)
		assert.False(t, told)

		held := namedHeld(t, namedIn(place, scope, name, Shared()))
		assert.ErrorIs(t, held, ErrUnavailable)
		assert.NotErrorIs(t, held, ErrMisconfigured)
		assert.True(t, held.Kernel)
		out, err := namedCommand(place, scope, name).Output()
		require.NoError(t, err)
		assert.Contains(t, string(out), "held | ", scope)

		require.NoError(t, l.Release())
		assert.NoError(t, l.Release(), "twice")
		assert.ErrorIs(t, l.Err(), ErrReleased)
		<-l.Done()
		l = mustNamed(t, namedIn(place, scope, name))
		_, told = TakeoverOf(l)
		assert.False(t, told, "after a release")
	}
}

// A lock is one name in one scope; the machine's own place is asked with a name of its own.
func TestNamedOnThisMachine(t *testing.T) {
	name := newName()
	l, err := Named(name, AllUsers).TryAcquire(context.Background())
	if errors.Is(err, ErrMisconfigured) {
		t.Skip("this machine has no place for locks: ", err)
	}
	require.NoError(t, err)
	defer forget(t, name)
	defer l.Release()
	held := namedHeld(t, Named(name, AllUsers))
	assert.Equal(t, Ourselves, held.Holder.State)
	assert.Equal(t, os.Getpid(), held.Holder.PID)
	out, err := namedCommand(realPlace, AllUsers, name).Output()
	require.NoError(t, err)
	assert.Contains(t, string(out), "held | ")

	require.NoError(t, l.Release())
	c := startNamed(t, namedCommand(realPlace, AllUsers, name))
	assert.Contains(t, c.line(), "told of nobody")
	namedHeld(t, Named(name, AllUsers))
	c.say("release")
	assert.Equal(t, "released <nil>", c.line())
	c.end()
}

// Any two strings are two names, whatever a file system or an object manager takes for one.
func TestNamedNames(t *testing.T) {
	names := []string{
		"", " ", "_", "-", ".", "..", "a", "A", "a ", "a.", "é", "e\u0301", "É", "ß", "ss", "ſ", "K", "\u212a", "a/b", `a\b`, "a:b", "a_b", "a\x00b", "a\nb",
		"\xff", "\xfe", "\ufffd", "CON", "nul.txt", "/run/lock/x", "../x", "日本", "😀", `Global\x`,
		strings.Repeat("x", 59), strings.Repeat("x", 60), strings.Repeat("x", 61), strings.Repeat("x", 100_000), strings.Repeat("é", 300),
	}
	seen := map[string]string{}
	for _, n := range names {
		file := namedFileName(n)
		assert.LessOrEqual(t, len(file), 125)
		assert.Regexp(t, `^([0-9A-Za-z._-]{1,60}-)?[0-9a-f]{64}$`, file)
		assert.NotContains(t, seen, strings.ToLower(file), "%q and %q", n, seen[strings.ToLower(file)])
		seen[strings.ToLower(file)] = n
	}
	assert.Equal(t, "updater-of.x-a2259c24bdb79525e431e859e25d2022ceb6390fd3c18491814efd92c4033bb6", namedFileName("updater-of.x"))

	place, id := newPlace(t), rand.Text()
	for _, n := range names { // all at once
		mustNamed(t, namedIn(place, AllUsers, n+id))
	}
	for _, n := range names {
		namedHeld(t, namedIn(place, AllUsers, n+id))
	}
}

func TestNamedScopesAreTwoLocks(t *testing.T) {
	place, name := newPlace(t), newName()
	all := slices.Clone(scopes)
	if otherGroup != someGroup {
		all = append(all, Group(otherGroup))
	}
	for _, scope := range all {
		mustNamed(t, namedIn(place, scope, name))
	}
	for _, scope := range all {
		namedHeld(t, namedIn(place, scope, name))
	}
	for _, scope := range []Scope{"", "all", "group", Group("no such group here"), Group("")} {
		_, err := namedIn(place, scope, name).TryAcquire(context.Background())
		assert.ErrorIs(t, err, ErrMisconfigured, "%q", string(scope))
		if scope != Group("no such group here") {
			assert.ErrorContains(t, err, "is no scope")
		}
		assert.ErrorIs(t, err, ErrUnavailable)
		assert.NotErrorIs(t, err, ErrHeld)
	}
}

// Whatever ends a holder, the lock is free then, and a child of its does not keep it.
func TestNamedHolderEnds(t *testing.T) {
	place := newPlace(t)
	for _, end := range []string{"release", "exit", "panic", "kill"} {
		t.Run(end, func(t *testing.T) {
			name := newName()
			c := startNamed(t, namedCommand(place, AllUsers, name))
			require.Contains(t, c.line(), "told of nobody")
			c.say("child")
			require.Contains(t, c.line(), "idle ")

			// on Windows it is known only to those who wait meanwhile
			var log bytes.Buffer
			var once sync.Once
			waits := make(chan struct{})
			waiter := namedIn(place, AllUsers, name, Wait(time.Minute), Logger(slog.New(slog.NewTextHandler(&log, nil))),
				OnWait(func(Holder) { once.Do(func() { close(waits) }) }))
			got := make(chan Lease, 1)
			go func() {
				l, err := waiter.Acquire(context.Background())
				assert.NoError(t, err)
				got <- l
			}()
			<-waits
			if end == "kill" {
				c.kill()
			} else {
				c.say(end)
			}
			l := <-got
			require.NotNil(t, l)
			defer l.Release()
			dead, told := TakeoverOf(l)
			if end == "release" {
				assert.False(t, told)
				assert.NotContains(t, log.String(), "level=WARN")
				return
			}
			require.True(t, told)
			assert.Equal(t, abandoned, dead.Proof)
			assert.Equal(t, 1, strings.Count(log.String(), "level=WARN"), log.String())
			if runtime.GOOS != "windows" {
				assert.Equal(t, c.cmd.Process.Pid, dead.PID)
				assert.WithinDuration(t, time.Now(), dead.Since, time.Minute)
				assert.Contains(t, log.String(), fmt.Sprintf("pid=%d", dead.PID))
			}
			require.NoError(t, l.Release())
			_, told = TakeoverOf(mustNamed(t, namedIn(place, AllUsers, name)))
			assert.False(t, told, "only the next one is told")
		})
	}
}

// The goroutines of one process come first come, first served; cancelled ones leave the queue, and one try does not join it.
func TestNamedQueue(t *testing.T) {
	place, name := newPlace(t), newName()
	table := newKernelTable()
	queue := func(opts ...Option) namedLocker {
		return namedLocker{machineAt(place), table, name, AllUsers, newOptions(opts)}
	}
	l := mustNamed(t, queue())
	const waiters = 5
	var order []int
	var all sync.WaitGroup
	stop := errors.New("stopped")
	for i := range waiters {
		ctx, cancel := context.WithCancelCause(context.Background())
		var once sync.Once
		waits := make(chan struct{})
		all.Go(func() {
			mine, err := queue(Wait(Forever), OnWait(func(h Holder) {
				once.Do(func() {
					assert.Equal(t, Ourselves, h.State)
					close(waits)
				})
			})).Acquire(ctx)
			if i == 2 {
				assert.ErrorIs(t, err, stop)
				assert.ErrorIs(t, err, context.Canceled)
				assert.NotErrorIs(t, err, ErrUnavailable)
			} else {
				assert.NoError(t, err)
			}
			if err == nil {
				order = append(order, i)
				go mine.Release() // by another goroutine
				<-mine.Done()
			}
		})
		<-waits
		if i == 2 {
			cancel(stop)
		}
		defer cancel(nil)
	}
	assert.Equal(t, Ourselves, namedHeld(t, queue()).Holder.State)
	require.NoError(t, l.Release())
	all.Wait()
	assert.Equal(t, []int{0, 1, 3, 4}, order)
}

func TestNamedWaitEnds(t *testing.T) {
	place, name := newPlace(t), newName()
	mustNamed(t, namedIn(place, AllUsers, name))
	began := time.Now()
	_, err := namedIn(place, AllUsers, name, Wait(150*time.Millisecond)).Acquire(context.Background())
	assert.GreaterOrEqual(t, time.Since(began), 150*time.Millisecond)
	var held *HeldError
	require.ErrorAs(t, err, &held)
	assert.GreaterOrEqual(t, held.Waited, 150*time.Millisecond)
	assert.Contains(t, err.Error(), "gave up after")
	assert.False(t, held.Stuck(), "the kernel lets go when the holder ends")

	for _, wait := range []time.Duration{0, Forever} {
		ctx, cancel := context.WithCancelCause(context.Background())
		l := namedIn(place, AllUsers, name, Wait(wait), OnWait(func(Holder) { cancel(errors.New("enough")) }))
		if wait == 0 {
			cancel(errors.New("enough"))
		}
		_, err := l.Acquire(ctx)
		assert.ErrorIs(t, err, context.Canceled)
		assert.ErrorContains(t, err, "enough")
		assert.NotErrorIs(t, err, ErrUnavailable)
		cancel(nil)
	}
	var wait options
	for _, l := range []Locker{Named(name, AllUsers), Named(name, AllUsers, Wait(0))} {
		wait = l.(namedLocker).opts
	}
	assert.Zero(t, wait.wait)
	assert.Equal(t, DefaultWait, Named(name, AllUsers).(namedLocker).opts.wait)
}

func TestNamedReentrant(t *testing.T) {
	place, name := newPlace(t), newName()
	l := namedIn(place, AllUsers, name, Wait(Forever))
	err := Do(context.Background(), l, func(ctx context.Context, lease Lease) error {
		for _, take := range []func(context.Context) (Lease, error){l.Acquire, l.TryAcquire, namedIn(place, AllUsers, name).Acquire} {
			_, err := take(ctx)
			assert.ErrorIs(t, err, ErrReentrant)
			assert.NotErrorIs(t, err, ErrUnavailable)
		}
		return Do(ctx, namedIn(place, CurrentUser, name), func(ctx context.Context, _ Lease) error {
			_, err := l.Acquire(ctx)
			assert.ErrorIs(t, err, ErrReentrant)
			require.NoError(t, lease.Release())
			again, err := l.TryAcquire(ctx)
			require.NoError(t, err, "with the context of a lease that is over")
			return again.Release()
		})
	})
	assert.NoError(t, err)
}

// lines are what a log says, without what differs from run to run.
type lines struct {
	mu   sync.Mutex
	said []string
}

func (l *lines) Enabled(context.Context, slog.Level) bool { return true }
func (l *lines) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *lines) WithGroup(string) slog.Handler            { return l }

func (l *lines) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.said = append(l.said, r.Level.String()+" "+r.Message)
	return nil
}

func TestNamedLog(t *testing.T) {
	place, name := newPlace(t), newName()
	what := "lock file"
	if runtime.GOOS == "windows" {
		what = "mutex"
	}
	created := []string{"DEBUG creating " + what, "DEBUG created " + what}
	var first, second lines
	l, err := namedIn(place, AllUsers, name, Logger(slog.New(&first))).Acquire(context.Background())
	require.NoError(t, err)
	next, err := namedIn(place, AllUsers, name, Logger(slog.New(&second)), Wait(time.Minute), OnWait(func(Holder) { l.Release() })).Acquire(context.Background())
	require.NoError(t, err)
	require.NoError(t, next.Release())
	assert.Equal(t, append(slices.Clone(created), "DEBUG acquired lock", "DEBUG releasing lock"), first.said)
	want := []string{"DEBUG waiting for lock", "DEBUG acquired lock", "DEBUG releasing lock"}
	if runtime.GOOS == "windows" { // where it is made anew as often as it is opened
		want = append(created, want...)
	}
	assert.Equal(t, want, second.said)
}

// Who waits for another goroutine of this process says so as well, once, before it does.
func TestWaitingInTheQueueIsLogged(t *testing.T) {
	path, place, name := target(t), newPlace(t), newName()
	p, table := newProcess(), newKernelTable()
	for kind, acquire := range map[string]func(...Option) (Lease, error){
		"record": func(opts ...Option) (Lease, error) {
			return leased(acquire(context.Background(), osSystem{}, p, path, newOptions(opts)))
		},
		"kernel": func(opts ...Option) (Lease, error) {
			return kernelOf{table, path, newOptions(opts)}.Acquire(context.Background())
		},
		"named": func(opts ...Option) (Lease, error) {
			return namedLocker{machineAt(place), table, name, AllUsers, newOptions(opts)}.Acquire(context.Background())
		},
	} {
		l, err := acquire()
		require.NoError(t, err)
		var log lines
		var saidBefore int
		next, err := acquire(Wait(time.Minute), Logger(slog.New(&log)), OnWait(func(Holder) {
			saidBefore = strings.Count(strings.Join(log.said, "\n"), "DEBUG waiting for lock")
			l.Release()
		}))
		require.NoError(t, err, kind)
		require.NoError(t, next.Release())
		assert.Equal(t, 1, saidBefore, kind)
		assert.Equal(t, 1, strings.Count(strings.Join(log.said, "\n"), "DEBUG waiting for lock"), kind)
	}
}
