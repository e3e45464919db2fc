package filelock

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/holdfast-go/holdfast/internal/sys"
)

func init() {
	children["unwatched"] = childUnwatched
	children["waiters"] = childWaiters
	children["replace"] = childReplace
}

// waiter is an acquisition whose pauses are endless.
type waiter struct {
	t      *testing.T
	paused chan struct{} // a value as each pause begins
	ended  chan struct{}
	lock   *Lock
	err    error
}

// waitsFor begins an acquisition by one more process than there are.
func waitsFor(t *testing.T, s *stepped, path string, opts ...Option) *waiter {
	t.Helper()
	w := &waiter{t: t, paused: make(chan struct{}, 100), ended: make(chan struct{})}
	if s.pauses == nil {
		s.pauses = func(ctx context.Context, d time.Duration, wake <-chan struct{}) error {
			w.paused <- struct{}{}
			return endless(ctx, d, wake)
		}
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), eventually, errors.New("nothing woke the waiter"))
	go func() {
		defer close(w.ended)
		w.lock, w.err = acquire(ctx, s, newProcess(), path, newOptions(append([]Option{Wait(Forever)}, opts...)))
	}()
	t.Cleanup(func() {
		cancel()
		if <-w.ended; w.err == nil {
			w.lock.Release()
		}
	})
	return w
}

// pauses waits for the waiter's next pause.
func (w *waiter) pauses(why string) {
	w.t.Helper()
	select {
	case <-w.paused:
	case <-w.ended:
		require.NoError(w.t, w.err, why)
		require.Fail(w.t, "the waiter has the lock already", why)
	}
}

// got waits for the lock, which the waiter must have without one more pause.
func (w *waiter) got(why string) *Lock {
	w.t.Helper()
	<-w.ended
	require.NoError(w.t, w.err, why)
	assert.Empty(w.t, w.paused, "%s: it paused once more", why)
	return w.lock
}

// A waiter is woken by each of the ways in which the lock can change, by the one watch that is left to it.
func TestWoken(t *testing.T) {
	for name, c := range map[string]struct {
		refused string
		end     func(t *testing.T, holder *child, lock string)
	}{
		"by a release":              {"watchExit", func(_ *testing.T, holder *child, _ string) { holder.end() }},
		"by the end of the process": {"watch", func(_ *testing.T, holder *child, _ string) { holder.end() }},
		"by the holder's death":     {"", func(_ *testing.T, holder *child, _ string) { holder.kill() }},
		"by deletion":               {"", func(t *testing.T, _ *child, lock string) { require.NoError(t, os.Remove(lock)) }},
		"by renaming": {"", func(t *testing.T, _ *child, lock string) {
			require.NoError(t, os.Rename(lock, lock+".elsewhere"))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			path := target(t)
			holder := start(t, command("hold", path))
			require.Contains(t, holder.line(), "held ")
			s := newStepped(refuse(sys.Unsupported, c.refused))
			w := waitsFor(t, s, path)
			w.pauses("the lock is held")
			assert.Zero(t, s.wakes.Load())
			c.end(t, holder, path+lockSuffix)
			require.NoError(t, w.got(name).Release())
			assert.NotZero(t, s.wakes.Load())
		})
	}
}

// A takeover renames the claim over the dead lock: who waits for that one is woken, and finds a live holder.
func TestWokenByATakeover(t *testing.T) {
	path := target(t)
	write(t, path+lockSuffix, record(deadPID(t)))
	s := newStepped(nil)
	w := waitsFor(t, s, path, NoTakeover(), Eager())
	w.pauses("its holder is dead and may not be followed")
	l, err := try(t, path)
	require.NoError(t, err)
	w.pauses("the takeover has a live holder")
	assert.EqualValues(t, 1, s.wakes.Load())
	require.NoError(t, l.Release())
	require.NoError(t, w.got("the release").Release())
}

// Who waits for a claim is woken when it goes, and when its claimant does.
func TestWokenByAClaim(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, claimant *child, claim string){
		"removed":         func(t *testing.T, _ *child, claim string) { require.NoError(t, os.Remove(claim)) },
		"claimant killed": func(_ *testing.T, claimant *child, _ string) { claimant.kill() },
	} {
		t.Run(name, func(t *testing.T) {
			path := target(t)
			dead := record(deadPID(t))
			write(t, path+lockSuffix, dead)
			claimant := start(t, command("idle"))
			claimant.line()
			claim := filepath.Join(filepath.Dir(path), claimName("settings.json.lock", dead))
			write(t, claim, record(claimant.cmd.Process.Pid))
			w := waitsFor(t, newStepped(nil), path)
			w.pauses("the claim is a live contender's")
			end(t, claimant, claim)
			l := w.got(name)
			_, told := l.Takeover()
			assert.True(t, told)
			require.NoError(t, l.Release())
			assert.Empty(t, entries(t, path))
		})
	}
}

// Nothing but the end of the lock wakes those who wait for it.
func TestNotWoken(t *testing.T) {
	path := target(t)
	dir, lock := filepath.Dir(path), path+lockSuffix
	holder, err := try(t, path)
	require.NoError(t, err)
	s := newStepped(nil)
	w := waitsFor(t, s, path)
	w.pauses("the lock is held")
	for name, change := range map[string]func() error{
		"a heartbeat":         func() error { holder.beat(); return nil },
		"a check":             holder.Check,
		"a read":              func() error { _, err := os.ReadFile(lock); return err },
		"a write":             func() error { return os.WriteFile(lock, record(os.Getpid()), 0o600) },
		"a change of mode":    func() error { return errors.Join(os.Chmod(lock, 0o640), os.Chmod(lock, 0o600)) },
		"a change of times":   func() error { return os.Chtimes(lock, time.Now(), time.Now()) },
		"another name for it": func() error { return errors.Join(os.Link(lock, lock+".other"), os.Remove(lock+".other")) },
		"another contender": func() error {
			if _, err := try(t, path); !errors.Is(err, ErrHeld) {
				return fmt.Errorf("the lock is not held: %v", err)
			}
			return nil
		},
		"the protected file": func() error {
			return errors.Join(os.WriteFile(path+".tmp", nil, 0o600), os.Rename(path+".tmp", path))
		},
		"another file": func() error { return errors.Join(os.WriteFile(path+"2", nil, 0o600), os.Remove(path+"2")) },
		"another lock": func() error {
			return With(context.Background(), path+"3", func(context.Context, *Lock) error { return nil })
		},
		"a folder": func() error {
			return errors.Join(os.Mkdir(filepath.Join(dir, "d"), 0o700), os.Remove(filepath.Join(dir, "d")))
		},
	} {
		for range 100 {
			require.NoError(t, change(), name)
		}
		seen(t, dir)
		require.Zero(t, s.wakes.Load(), name)
	}
	require.NoError(t, holder.Release())
	require.NoError(t, w.got("the release").Release())
	assert.EqualValues(t, 1, s.wakes.Load())
}

// seen returns once this process has read all events that there were until now: they come in the order in which they
// happened.
func seen(t *testing.T, dir string) {
	t.Helper()
	last := filepath.Join(dir, "last")
	write(t, last, nil)
	d, err := sys.OpenDir(dir)
	require.NoError(t, err)
	defer d.Close()
	told := make(chan struct{})
	stop, err := d.Watch("last", func() { close(told) })
	require.NoError(t, err)
	defer stop()
	require.NoError(t, os.Remove(last))
	<-told
}

// What happens between the look and the watch is not told by the watch. It is found out at once.
func TestChangedBeforeTheWatch(t *testing.T) {
	t.Run("released", func(t *testing.T) {
		path := target(t)
		holder, err := try(t, path)
		require.NoError(t, err)
		w := waitsFor(t, newStepped(before("watch", func() { assert.NoError(t, holder.Release()) })), path)
		w.pauses("it saw the lock held")
		require.NoError(t, w.got("the release").Release())
	})
	t.Run("passed on", func(t *testing.T) {
		path := target(t)
		holder, err := try(t, path)
		require.NoError(t, err)
		// The first lock's inode must not be used again for the second: the watch would be the right one then.
		pin, err := os.Open(path + lockSuffix)
		require.NoError(t, err)
		defer pin.Close()
		w := waitsFor(t, newStepped(before("watch", func() {
			assert.NoError(t, holder.Release())
			holder, err = try(t, path)
			assert.NoError(t, err)
		})), path, Eager())
		w.pauses("it saw the first holder")
		w.pauses("it sees the second holder")
		require.NoError(t, holder.Release())
		require.NoError(t, w.got("the release").Release())
	})
	t.Run("killed", func(t *testing.T) {
		path := target(t)
		holder := start(t, command("hold", path))
		require.Contains(t, holder.line(), "held ")
		w := waitsFor(t, newStepped(before("watchExit", holder.kill)), path)
		w.pauses("it saw the holder alive")
		l := w.got("the holder's death")
		_, told := l.Takeover()
		assert.True(t, told)
		require.NoError(t, l.Release())
	})
}

// before has f called before the first op takes effect.
func before(op string, f func()) func(step) error {
	first := true
	return func(s step) error {
		if s.op == op && !s.after && first {
			first = false
			f()
		}
		return nil
	}
}

// A waiter that was woken and was not the first sits the next pause out, so that there is a gap for those who poll.
func TestLostRaces(t *testing.T) {
	for name, c := range map[string]struct {
		opts  []Option
		woken []bool
	}{
		"courteous": {nil, []bool{true, false, true, false, true, false}},
		"eager":     {[]Option{Eager()}, []bool{true, true, true, true, true, true}},
	} {
		t.Run(name, func(t *testing.T) {
			path := target(t)
			holder, err := try(t, path)
			require.NoError(t, err)
			s := newStepped(nil)
			var woken []bool
			var pauses []time.Duration
			s.pauses = func(ctx context.Context, d time.Duration, wake <-chan struct{}) error {
				woken, pauses = append(woken, wake != nil), append(pauses, d)
				assert.NoError(t, holder.Release())
				if len(pauses) < len(c.woken) {
					var err error
					holder, err = try(t, path) // faster than the waiter
					assert.NoError(t, err)
				}
				if wake == nil {
					return nil
				}
				return endless(ctx, d, wake)
			}
			require.NoError(t, waitsFor(t, s, path, c.opts...).got("the last release").Release())
			assert.Equal(t, c.woken, woken)
			const ms = time.Millisecond
			assert.Equal(t, []time.Duration{20 * ms, 40 * ms, 80 * ms, 160 * ms, 200 * ms, 200 * ms}, pauses)
		})
	}
}

// A pause that ends by itself is no lost race.
func TestPollsAreNoLostRaces(t *testing.T) {
	path := target(t)
	holder, err := try(t, path)
	require.NoError(t, err)
	s := newStepped(nil)
	pauses := 0
	s.pauses = func(ctx context.Context, d time.Duration, wake <-chan struct{}) error {
		if pauses++; pauses < 6 {
			return nil
		}
		assert.NoError(t, holder.Release())
		return endless(ctx, d, wake)
	}
	require.NoError(t, waitsFor(t, s, path).got("the release").Release())
	assert.Equal(t, 6, pauses)
}

// Who was beaten to the lock leaves it alone for a while once it was won.
func TestRest(t *testing.T) {
	const ms = time.Millisecond
	for name, c := range map[string]struct {
		races int
		first []Option
		later time.Duration // after the lock was won
		next  []Option
		rests []time.Duration
	}{
		"no race lost":          {0, nil, 0, nil, nil},
		"one":                   {1, nil, 0, nil, []time.Duration{winnersRest}},
		"many":                  {9, nil, 0, nil, []time.Duration{winnersRest}},
		"some time later":       {1, nil, winnersRest - ms, nil, []time.Duration{ms}},
		"long after":            {1, nil, winnersRest, nil, nil},
		"one try":               {1, nil, 0, []Option{Wait(0)}, nil},
		"a short wait":          {1, nil, 0, []Option{Wait(100 * ms)}, []time.Duration{100 * ms}},
		"eager now":             {1, nil, 0, []Option{Eager()}, nil},
		"eager when it was won": {1, []Option{Eager()}, 0, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			path := target(t)
			holder, err := try(t, path)
			require.NoError(t, err)
			s := newStepped(nil)
			s.pauseFor = true
			won := false
			races := c.races
			var rests []time.Duration
			s.pauses = func(ctx context.Context, d time.Duration, wake <-chan struct{}) error {
				switch {
				case won:
					assert.Nil(t, wake)
					rests = append(rests, d)
					s.mu.Lock()
					s.virtual += d
					s.mu.Unlock()
				case wake != nil:
					assert.NoError(t, holder.Release())
					if races > 0 {
						races--
						var err error
						holder, err = try(t, path)
						assert.NoError(t, err)
					}
					return endless(ctx, d, wake)
				}
				return nil
			}
			p := newProcess()
			acquire := func(path string, opts []Option) {
				l, err := acquireFor(t, s, p, path, append([]Option{Wait(Forever)}, opts...)...)
				require.NoError(t, err)
				require.NoError(t, l.Release())
			}
			acquire(path, c.first)
			won = true
			s.mu.Lock()
			s.virtual += c.later
			s.mu.Unlock()
			acquire(path+".other", c.next)
			assert.Empty(t, rests, "another lock")
			acquire(path, c.next)
			assert.Equal(t, c.rests, rests)
		})
	}
	t.Run("nothing is kept", func(t *testing.T) {
		p := newProcess()
		for n := range 100 {
			p.owe(key{name: strconv.Itoa(n)}, time.Unix(int64(n), 0), winnersRest)
		}
		assert.Len(t, p.rests, 1)
	})
}

// Nothing is watched, and nothing runs, once an acquisition has ended in whatever way.
func TestNothingIsWatchedAfterwards(t *testing.T) {
	for name, end := range map[string]func(holder *child, cancel func()){
		"held":      func(holder *child, _ func()) { holder.end() },
		"cancelled": func(_ *child, cancel func()) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			path := target(t)
			holder := start(t, command("hold", path))
			require.Contains(t, holder.line(), "held ")
			s := newStepped(nil)
			cancels := make(chan func(), 1)
			s.pauses = func(ctx context.Context, d time.Duration, wake <-chan struct{}) error {
				ctx, cancel := context.WithCancel(ctx)
				cancels <- cancel
				return endless(ctx, d, wake)
			}
			w := waitsFor(t, s, path)
			cancel := <-cancels
			defer cancel()
			assert.Equal(t, 1, inotifyWatches(t))
			assert.NotEmpty(t, watching())
			end(holder, cancel)
			if <-w.ended; w.err == nil {
				require.NoError(t, w.lock.Release())
			}
			assert.Zero(t, inotifyWatches(t))
			require.Eventually(t, func() bool { return watching() == "" }, eventually, time.Millisecond, "%s", watching())
		})
	}
	t.Run("the wait ran out", func(t *testing.T) {
		path := target(t)
		holder := start(t, command("hold", path))
		require.Contains(t, holder.line(), "held ")
		_, err := acquireFor(t, osSystem{}, newProcess(), path, Wait(30*time.Millisecond))
		require.ErrorIs(t, err, ErrHeld)
		assert.Zero(t, inotifyWatches(t))
		require.Eventually(t, func() bool { return watching() == "" }, eventually, time.Millisecond, "%s", watching())
	})
}

// inotifyWatches is how many inodes this process watches.
func inotifyWatches(t *testing.T) (n int) {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	for _, fd := range list {
		if to, _ := os.Readlink("/proc/self/fd/" + fd.Name()); to == "anon_inode:inotify" {
			info, err := os.ReadFile("/proc/self/fdinfo/" + fd.Name())
			require.NoError(t, err)
			n += bytes.Count(info, []byte("inotify wd:"))
		}
	}
	return n
}

// watching are the goroutines that wait for a change of an inode or the end of a process.
func watching() (stacks string) {
	all := make([]byte, 1<<20)
	for _, g := range strings.Split(string(all[:runtime.Stack(all, true)]), "\n\n") {
		if strings.Contains(g, "sys.(*watched).read") || strings.Contains(g, "sys.WatchExit") {
			stacks += g + "\n\n"
		}
	}
	return stacks
}

// Where the system's limits of what may be watched are used up, a waiter has the lock at its next look.
func TestWatchLimitsUsedUp(t *testing.T) {
	for _, limit := range []string{"max_inotify_watches", "max_inotify_instances"} {
		t.Run(limit, func(t *testing.T) {
			path := target(t)
			holder, err := try(t, path)
			require.NoError(t, err)
			cmd := command("unwatched", limit, path)
			cmd.SysProcAttr = ownLimits(t)
			waiting := start(t, cmd)
			require.Equal(t, "pauses", waiting.line())
			require.NoError(t, holder.Release())
			require.Equal(t, "held, woken 0 times", waiting.line())
			waiting.end()
		})
	}
}

// ownLimits start a process in a user namespace, which has limits of its own.
func ownLimits(t *testing.T) *syscall.SysProcAttr {
	t.Helper()
	apart := &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
	}
	cmd := command("idle")
	cmd.SysProcAttr = apart
	if err := cmd.Run(); err != nil {
		t.Skipf("no user namespaces here: %v", err)
	}
	return apart
}

// childUnwatched LIMIT FILE: takes the lock where nothing more can be watched.
func childUnwatched(args []string) error {
	if err := os.WriteFile("/proc/sys/user/"+args[0], []byte("0"), 0); err != nil {
		return err
	}
	d, err := sys.OpenDir(filepath.Dir(args[1]))
	if err != nil {
		return err
	}
	defer d.Close()
	if _, err := d.Watch(filepath.Base(args[1])+lockSuffix, func() {}); !sys.IsKind(err, sys.NoSpace, sys.TooManyFiles) {
		return fmt.Errorf("the limit is not used up: %v", err)
	}
	said := false
	s := newStepped(func(st step) error {
		if st.op == "pause" && !st.after && !said {
			said = true
			fmt.Println("pauses")
		}
		return nil
	})
	l, err := acquire(context.Background(), s, newProcess(), args[1], newOptions([]Option{Wait(Forever)}))
	if err != nil {
		return err
	}
	fmt.Printf("held, woken %d times\n", s.wakes.Load())
	return l.Release()
}

const (
	idleFor     = 3 * time.Second
	idleWaiters = 256
	// mostIdle is far above what waiters that idle cost, for machines that do something else as well.
	mostIdle = idleFor / 20
)

// Waiters that idle cost next to nothing, also beside a file that is replaced all the time.
func TestIdleWaiters(t *testing.T) {
	for name, busy := range map[string]bool{"quiet directory": false, "busy directory": true} {
		t.Run(name, func(t *testing.T) {
			path := target(t)
			holder := start(t, command("hold", path))
			require.Contains(t, holder.line(), "held ")
			if busy {
				other := start(t, command("replace", path))
				require.Equal(t, "replacing", other.line())
				defer func() {
					other.in.Close()
					t.Log(other.line())
				}()
			}
			waiters := start(t, command("waiters", path, strconv.Itoa(idleWaiters)))
			var cpu time.Duration
			var looks, wakes int
			_, err := fmt.Sscanf(waiters.line(), "%d %d %d", &cpu, &looks, &wakes)
			require.NoError(t, err)
			waiters.end()
			t.Logf("%d waiters: %.2f %% of one core, %d looks in %v", idleWaiters, 100*cpu.Seconds()/idleFor.Seconds(), looks, idleFor)
			assert.LessOrEqual(t, cpu, mostIdle)
			assert.LessOrEqual(t, looks, 4*int(idleFor/longestPause), "only the first of them looks")
			assert.Zero(t, wakes)
		})
	}
}

// childWaiters FILE N: has N goroutines wait, and prints the processor time, looks at the lock and wake-ups that this costs.
func childWaiters(args []string) error {
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	var looks atomic.Int32
	paused := make(chan struct{}, 1<<16)
	s := newStepped(func(st step) error {
		switch {
		case st.op == "lstat" && !st.after:
			looks.Add(1)
		case st.op == "pause" && !st.after:
			paused <- struct{}{}
		}
		return nil
	})
	ctx, cancel := context.WithCancel(context.Background())
	p := newProcess()
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			_, err := acquire(ctx, s, p, args[0], newOptions([]Option{Wait(Forever)}))
			if !errors.Is(err, context.Canceled) {
				fmt.Println("the lock was not held:", err)
			}
		})
		<-paused
	}
	before := processorTime()
	looks.Store(0)
	time.Sleep(idleFor) // the time is the subject
	fmt.Println(int64(processorTime()-before), looks.Load(), s.wakes.Load())
	cancel()
	all.Wait()
	return nil
}

func processorTime() time.Duration {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		panic(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// childReplace FILE: replaces FILE each millisecond until its input ends.
func childReplace(args []string) error {
	ended := make(chan struct{})
	go func() {
		io.Copy(io.Discard, os.Stdin)
		close(ended)
	}()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	began := time.Now()
	for n := 1; ; n++ {
		if err := os.WriteFile(args[0]+".tmp", nil, 0o600); err != nil {
			return err
		}
		if err := os.Rename(args[0]+".tmp", args[0]); err != nil {
			return err
		}
		if n == 1 {
			fmt.Println("replacing")
		}
		select {
		case <-tick.C:
		case <-ended:
			fmt.Printf("replaced %.0f times a second\n", float64(n)/time.Since(began).Seconds())
			return nil
		}
	}
}

// A child that a lock is held for, ended and not reaped, can be watched and has ended each time.
func TestEndedChild(t *testing.T) {
	for name, opts := range map[string][]Option{"courteous": nil, "eager": {Eager()}} {
		t.Run(name, func(t *testing.T) {
			path := target(t)
			c := start(t, command("idle"))
			c.line()
			holder, err := try(t, path, OnBehalfOf(c.cmd.Process.Pid))
			require.NoError(t, err)
			watches, pauses := 0, 0
			s := newStepped(func(st step) error {
				if st.op == "watchExit" && !st.after {
					watches++
				}
				return nil
			})
			s.pauses = func(ctx context.Context, d time.Duration, wake <-chan struct{}) error {
				switch pauses++; pauses {
				case 1:
					c.in.Close()
					return endless(ctx, d, wake)
				case 10:
					assert.NoError(t, holder.Release())
				}
				return nil
			}
			p := newProcess()
			l, err := acquireFor(t, s, p, path, append(opts, Wait(Forever))...)
			require.NoError(t, err)
			require.NoError(t, l.Release())
			assert.Equal(t, 1, watches, "its end has been told")
			assert.Empty(t, p.rests, "nobody was faster")
		})
	}
}
