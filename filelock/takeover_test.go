package filelock

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/sys"
)

func TestTakeover(t *testing.T) {
	dead := deadPID(t)
	for name, content := range map[string]string{
		"plain":  string(record(dead)),
		"padded": fmt.Sprintf("%020d\n", dead),
	} {
		t.Run(name, func(t *testing.T) {
			path := target(t)
			write(t, path+lockSuffix, []byte(content))
			var claims []string
			s := newStepped(func(st step) error {
				if st.op == endsLock() && st.lock() && !st.after {
					for _, e := range entries(t, path) {
						if strings.Contains(e, ".takeover-") {
							claims = append(claims, e)
							assert.Equal(t, string(record(os.Getpid())), read(t, filepath.Join(filepath.Dir(path), e)))
						}
					}
				}
				return nil
			})
			l, err := acquireFor(t, s, newProcess(), path, Wait(0))
			require.NoError(t, err)
			taken, ok := l.Takeover()
			require.True(t, ok)
			assert.Equal(t, dead, taken.PID)
			// Windows keeps an ended process while anybody has a handle on it
			assert.Contains(t, []string{string(noSuchProcess), string(notReaped)}, taken.Proof)
			assert.WithinDuration(t, time.Now(), taken.Since, time.Minute)
			assert.Equal(t, []string{claimName("settings.json.lock", []byte(content))}, claims)
			assert.Equal(t, []string{"settings.json.lock"}, entries(t, path))
			require.NoError(t, l.Release())
			assert.Empty(t, entries(t, path))
		})
	}
}

// endsLock is the step that ends a dead holder's lock: our claim is renamed over it where the system permits that.
func endsLock() string {
	if runtime.GOOS == "windows" {
		return "remove"
	}
	return "replace"
}

func TestNoTakeover(t *testing.T) {
	path := target(t)
	dead := deadPID(t)
	write(t, path+lockSuffix, record(dead))
	_, err := try(t, path, NoTakeover())
	var held *HeldError
	require.ErrorAs(t, err, &held)
	assert.Equal(t, Dead, held.Holder.State)
	assert.Equal(t, dead, held.Holder.PID)
	assert.Equal(t, []string{"settings.json.lock"}, entries(t, path))
}

// A holder killed without a chance to clean up is followed at once, and its successor is told.
func TestKilledHolder(t *testing.T) {
	path := target(t)
	holder := start(t, command("hold", path))
	require.Contains(t, holder.line(), "held ")
	_, err := try(t, path)
	var held *HeldError
	require.ErrorAs(t, err, &held)
	assert.Equal(t, Alive, held.Holder.State)
	assert.Equal(t, holder.cmd.Process.Pid, held.Holder.PID)
	assert.Contains(t, err.Error(), fmt.Sprintf("PID %d", holder.cmd.Process.Pid))

	holder.kill()
	l, err := try(t, path)
	require.NoError(t, err)
	taken, ok := l.Takeover()
	require.True(t, ok)
	assert.Equal(t, holder.cmd.Process.Pid, taken.PID)
	if runtime.GOOS == "linux" {
		assert.Equal(t, string(guardFree), taken.Proof)
	}
	require.NoError(t, l.Release())
	assert.Empty(t, entries(t, path))
}

// Eight contenders over a dead holder's lock, again and again: one at a time, nothing left.
func TestContendersOverADeadHolder(t *testing.T) {
	t.Parallel()
	const contenders = 8
	rounds := contested()
	path := target(t)
	dead := record(deadPID(t))
	var takeovers int
	for range rounds {
		write(t, path+lockSuffix, dead)
		var inside atomic.Int32
		var all sync.WaitGroup
		for range contenders {
			all.Go(func() {
				l, err := acquire(context.Background(), osSystem{}, newProcess(), path, newOptions([]Option{Wait(time.Minute)}))
				if !assert.NoError(t, err) {
					return
				}
				assert.EqualValues(t, 1, inside.Add(1), "never two inside")
				if _, ok := l.Takeover(); ok {
					takeovers++
				}
				runtime.Gosched()
				inside.Add(-1)
				assert.NoError(t, l.Release())
			})
		}
		all.Wait()
		require.Empty(t, entries(t, path))
	}
	if runtime.GOOS == "windows" {
		// A removed name lingers as long as somebody looks at it, and may be found dead once more.
		assert.GreaterOrEqual(t, takeovers, rounds)
		return
	}
	assert.Equal(t, rounds, takeovers)
}

// contested is how many rounds the contenders play.
func contested() int {
	if runtime.GOOS == "windows" {
		return 20 // each step is a message to one server under Wine
	}
	return 300
}

// The same with processes, each of which contends for all the rounds.
func TestProcessesOverADeadHolder(t *testing.T) {
	t.Parallel()
	const contenders = 8
	rounds := contested()
	path := target(t)
	dead := deadPID(t)
	var all []*child
	for range contenders {
		c := start(t, command("round", path, fmt.Sprint(dead), fmt.Sprint(rounds)))
		require.Equal(t, "ready", c.line())
		all = append(all, c)
	}
	for range rounds {
		write(t, path+lockSuffix, record(dead))
		for _, c := range all {
			fmt.Fprintln(c.in, "go")
		}
		for _, c := range all {
			require.Equal(t, "done", c.line())
		}
		require.Empty(t, entries(t, path))
	}
	for _, c := range all {
		c.end()
	}
}

// childRounds FILE DEAD ROUNDS: for each line it reads, takes the lock once and checks that it is alone.
func childRounds(args []string) error {
	path := args[0]
	fmt.Println("ready")
	for {
		var word string
		if _, err := fmt.Scanln(&word); err != nil {
			return nil
		}
		l, err := Acquire(context.Background(), path, Wait(time.Minute))
		if err != nil {
			return err
		}
		inside := path + ".inside"
		f, err := os.OpenFile(inside, os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return fmt.Errorf("two inside: %w", err)
		}
		f.Close()
		if err := os.Remove(inside); err != nil {
			return err
		}
		if err := l.Release(); err != nil {
			return err
		}
		fmt.Println("done")
	}
}

func TestClaimOfALiveContender(t *testing.T) {
	path := target(t)
	dead := record(deadPID(t))
	write(t, path+lockSuffix, dead)
	claimant := start(t, command("idle"))
	claimant.line()
	claim := filepath.Join(filepath.Dir(path), claimName("settings.json.lock", dead))
	write(t, claim, record(claimant.cmd.Process.Pid))
	before := entries(t, path)

	_, err := try(t, path)
	var held *HeldError
	require.ErrorAs(t, err, &held)
	assert.Equal(t, claim, held.Claim)
	assert.Equal(t, claimant.cmd.Process.Pid, held.Holder.PID)
	assert.Contains(t, err.Error(), claim)
	assert.Equal(t, before, entries(t, path))

	claimant.end()
	l, err := try(t, path)
	require.NoError(t, err, "the claimant is dead now: its claim is adopted")
	require.NoError(t, l.Release())
	assert.Empty(t, entries(t, path))
}

func TestEmptyClaimIsUnproven(t *testing.T) {
	path := target(t)
	dead := record(deadPID(t))
	write(t, path+lockSuffix, dead)
	claim := filepath.Join(filepath.Dir(path), claimName("settings.json.lock", dead))
	write(t, claim, nil)
	_, err := try(t, path)
	var held *HeldError
	require.ErrorAs(t, err, &held)
	assert.True(t, held.Stuck())
	assert.Equal(t, claim, held.Claim)
	assert.Len(t, entries(t, path), 2)
}

// A claim outlives its lock when its claimant is killed in between: it is adopted when its name is needed again.
func TestClaimWithoutItsLock(t *testing.T) {
	path := target(t)
	dead := record(deadPID(t))
	write(t, filepath.Join(filepath.Dir(path), claimName("settings.json.lock", dead)), record(deadPID(t)))
	l, err := try(t, path)
	require.NoError(t, err)
	require.NoError(t, l.Release())
	write(t, path+lockSuffix, dead)
	l, err = try(t, path)
	require.NoError(t, err)
	require.NoError(t, l.Release())
	assert.Empty(t, entries(t, path))
}

// A dead claim where the file system has no kernel locks: nobody could tell two adopters apart.
func TestDeadClaimWithoutKernelLocks(t *testing.T) {
	path := target(t)
	dead := record(deadPID(t))
	write(t, path+lockSuffix, dead)
	claim := filepath.Join(filepath.Dir(path), claimName("settings.json.lock", dead))
	write(t, claim, record(deadPID(t)))
	before := entries(t, path)
	s := newStepped(refuse(sys.Unsupported, "tryShared", "tryExclusive"))
	_, err := acquireFor(t, s, newProcess(), path, Wait(0))
	var held *HeldError
	require.ErrorAs(t, err, &held)
	assert.True(t, held.Stuck())
	assert.Equal(t, claim, held.Claim)
	assert.Contains(t, err.Error(), "no kernel locks")
	assert.Equal(t, before, entries(t, path))
}

const always = -1

func TestTakeoverWithAFailingStep(t *testing.T) {
	attempt := 0
	failing := func(kind sys.Kind, attempts int, which func(step) bool) func(step) error {
		return func(s step) error {
			if !s.after && which(s) && (attempts == always || attempt <= attempts) {
				return kind
			}
			return nil
		}
	}
	makesClaim := func(s step) bool {
		return s.claim() && (s.op == "linkUnnamed" || s.op == "moveNew" || s.op == "link" || s.op == "createNew")
	}
	removesLock := func(s step) bool { return s.op == endsLock() && s.lock() }
	removesClaim := func(s step) bool { return s.op == "remove" && s.claim() }
	for _, c := range []struct {
		name     string
		on       func(step) error
		adopted  bool     // a dead claimant has left its claim
		kind     sys.Kind // of the error; Other: no error
		held     bool
		left     int
		attempts int // 0: not counted
	}{
		{name: "claim EPERM, then fine", on: failing(sys.NotPermitted, 2, makesClaim)},
		{name: "claim EPERM for ever", on: failing(sys.NotPermitted, always, makesClaim), kind: sys.NotPermitted, left: 1, attempts: 4},
		{name: "claim EACCES", on: failing(sys.AccessDenied, always, makesClaim), kind: sys.AccessDenied, left: 1, attempts: 1},
		{name: "claim EIO", on: failing(sys.IO, always, makesClaim), kind: sys.IO, left: 1, attempts: 1},
		{name: "claim ENOSPC", on: failing(sys.NoSpace, always, makesClaim), kind: sys.NoSpace, left: 1, attempts: 1},
		{name: "lock cannot be removed", on: failing(sys.AccessDenied, always, removesLock), kind: sys.AccessDenied, held: true, left: 1},
		{name: "lock cannot be removed at first", on: failing(sys.AccessDenied, 2, removesLock)},
		{name: "adopted claim cannot be removed", adopted: true, on: failing(sys.AccessDenied, always, removesClaim), left: 1},
		{name: "adopted, lock cannot be removed", adopted: true, on: failing(sys.AccessDenied, always, func(s step) bool { return (s.op == "remove" || s.op == "replace") && s.lock() }), kind: sys.AccessDenied, held: true, left: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			if runtime.GOOS == "windows" && c.kind == sys.AccessDenied {
				t.Skip("Windows has one word for both refusals")
			}
			path := target(t)
			dead := record(deadPID(t))
			write(t, path+lockSuffix, dead)
			if c.adopted {
				write(t, filepath.Join(filepath.Dir(path), claimName("settings.json.lock", dead)), dead)
			}
			s := newStepped(nil)
			s.pauseFor = true
			attempt = 1
			s.on = func(st step) error {
				if st.op == "pause" && !st.after {
					attempt++
				}
				return c.on(st)
			}
			ran := false
			l, err := acquireFor(t, s, newProcess(), path, Wait(100*time.Millisecond))
			if err == nil {
				ran = true
				require.NoError(t, l.Release())
			}
			assert.Equal(t, c.kind == sys.Other, ran)
			if !ran {
				assert.Equal(t, c.kind, sys.KindOf(err), "%v", err)
				assert.Equal(t, c.held, isHeld(err), "%v", err)
			}
			if c.attempts != 0 {
				assert.Equal(t, c.attempts, attempt)
			}
			assert.Len(t, entries(t, path), c.left)
		})
	}
}

func isHeld(err error) bool {
	e, ok := err.(*HeldError)
	return ok && e.Holder.State == Dead
}

// What changes between the look and the act is noticed.
func TestChangedBetweenLookAndAct(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a pinned file's name cannot be used again there")
	}
	stranger := []byte("1\n")
	for _, c := range []struct {
		name   string
		before func(t *testing.T, claim string) // what lies there at first, beside a dead holder's lock
		change func(t *testing.T, s step, path, claim string)
		fail   func(s step) error
		probes func() func(int) sys.Process
		got    bool
		left   map[string]string // by kind
	}{
		{
			name: "the holder's number runs again at the second probe",
			probes: func() func(int) sys.Process {
				asked := 0
				return func(int) sys.Process {
					if asked++; asked == 1 {
						return sys.Process{Presence: sys.Absent}
					}
					return sys.Process{Presence: sys.Present}
				}
			},
			left: map[string]string{"lock": "99\n"},
		},
		{
			name: "other bytes in the same file at the second probe",
			change: func(t *testing.T, s step, path, claim string) {
				if s.op == "linkUnnamed" && s.claim() && s.after {
					write(t, path+lockSuffix, []byte("98\n"))
				}
			},
			left: map[string]string{"lock": "98\n"},
		},
		{
			name:   "our claim was replaced by somebody's",
			before: func(t *testing.T, claim string) { write(t, claim, []byte("98\n")) },
			change: func(t *testing.T, s step, path, claim string) {
				if s.op == "remove" && s.lock() && s.after {
					require.NoError(t, os.Remove(claim))
					write(t, claim, stranger)
				}
			},
			got:  true,
			left: map[string]string{"claim": string(stranger)},
		},
		{
			name:   "a dead claim was adopted by another and replaced before we had its kernel lock",
			before: func(t *testing.T, claim string) { write(t, claim, []byte("98\n")) },
			change: func(t *testing.T, s step, path, claim string) {
				if s.op == "tryExclusive" && s.claim() && !s.after {
					require.NoError(t, os.Remove(claim))
					write(t, claim, stranger)
				}
			},
			left: map[string]string{"lock": "99\n", "claim": string(stranger)},
		},
		{
			name:   "the lock's removal was reported as failed and was done",
			before: func(t *testing.T, claim string) { write(t, claim, []byte("98\n")) },
			fail: func(s step) error {
				if s.op == "remove" && s.lock() && s.after {
					return sys.IO
				}
				return nil
			},
			got: true,
		},
		{
			name: "the rename over the lock was reported as failed and was done",
			fail: func(s step) error {
				if s.op == "replace" && s.after {
					return sys.IO
				}
				return nil
			},
			got: true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := target(t)
			write(t, path+lockSuffix, record(99))
			claim := filepath.Join(filepath.Dir(path), claimName("settings.json.lock", record(99)))
			if c.before != nil {
				c.before(t, claim)
			}
			done := false
			s := newStepped(func(s step) error {
				if c.change != nil && !done {
					c.change(t, s, path, claim)
				}
				if c.fail != nil && !done {
					return c.fail(s)
				}
				return nil
			})
			s.alone = true
			s.probes = func(pid int) sys.Process {
				if pid == 1 {
					return sys.Process{Presence: sys.Present}
				}
				return sys.Process{Presence: sys.Absent}
			}
			if c.probes != nil {
				s.probes = c.probes()
			}
			l, err := acquireFor(t, s, newProcess(), path, Wait(0))
			done = true
			if c.got {
				require.NoError(t, err)
				require.NoError(t, l.Release())
			} else {
				require.ErrorIs(t, err, ErrHeld)
			}
			left := map[string]string{}
			for _, e := range entries(t, path) {
				kind := "claim"
				if strings.HasSuffix(e, lockSuffix) {
					kind = "lock"
				}
				left[kind] = read(t, filepath.Join(filepath.Dir(path), e))
			}
			if c.left == nil {
				c.left = map[string]string{}
			}
			assert.Equal(t, c.left, left)
		})
	}
}

// The schedule in takeover.go, step by step: contender B holds proof against a lock that has been replaced meanwhile by
// one with the same bytes, and by the time of its second probe that process is gone as well.
func TestNumberReusedBetweenClaimAndSecondProbe(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a pinned file's name cannot be used again there")
	}
	path := target(t)
	const number = 99
	var running atomic.Bool
	processes := func(pid int) sys.Process {
		if pid == number && !running.Load() {
			return sys.Process{Presence: sys.Absent}
		}
		return sys.Process{Presence: sys.Present}
	}
	machine := func(pid int, on func(step) error) *stepped {
		s := newStepped(on)
		s.pid, s.alone, s.probes = pid, true, processes
		return s
	}
	a := machine(1001, nil)

	atClaim, goOn := make(chan struct{}), make(chan struct{})
	atProbe, finish := make(chan struct{}), make(chan struct{})
	claims, claimed, probed := false, false, false
	b := machine(1002, func(s step) error {
		switch {
		case !claims && !s.after && (s.op == "linkUnnamed" || s.op == "moveNew") && s.claim():
			claims = true
			close(atClaim)
			<-goOn
		case claims && s.after && (s.op == "linkUnnamed" || s.op == "moveNew") && s.claim():
			claimed = true
		case claimed && !probed && s.op == "probe" && !s.after:
			probed = true
			close(atProbe)
			<-finish
		}
		return nil
	})

	write(t, path+lockSuffix, record(number)) // left by a dead process
	ended := make(chan error)
	go func() {
		_, err := acquire(context.Background(), b, newProcess(), path, newOptions([]Option{Wait(0)}))
		ended <- err
	}()
	<-atClaim
	first, err := acquireFor(t, a, newProcess(), path, Wait(0))
	require.NoError(t, err, "A takes over")
	require.NoError(t, first.Release())
	running.Store(true)
	write(t, path+lockSuffix, record(number)) // a new process has the number and the lock
	close(goOn)
	select {
	case <-atProbe: // only if B took the new lock for the one it judged
	case err := <-ended:
		require.ErrorIs(t, err, ErrHeld)
		go func() { ended <- err }()
	}
	require.NoError(t, os.Remove(path+lockSuffix)) // that process releases and exits
	running.Store(false)
	second, err := acquireFor(t, a, newProcess(), path, Wait(0))
	require.NoError(t, err, "A acquires")
	close(finish)
	err = <-ended
	assert.NoError(t, second.Check(), "B removed the lock of a live holder")
	require.Error(t, err)
	require.NoError(t, second.Release())
	assert.Empty(t, entries(t, path))
}

// Without the pin the schedule does end with two holders: the test above can fail.
func TestThePinIsWhatHolds(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil || runtime.GOOS == "windows" {
		t.Skip("needs the go command on this system")
	}
	t.Parallel()
	for _, m := range mutants {
		if m.name == "no pin" {
			out := m.run(t, "TestNumberReusedBetweenClaimAndSecondProbe", "")
			assert.Contains(t, out, "B removed the lock of a live holder")
			return
		}
	}
	t.Error("no such mutant")
}

// A contender that comes along in the midst of a takeover does not follow the dead holder without knowing.
func TestThirdContenderKnows(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a pinned file cannot be renamed over there")
	}
	path := target(t)
	write(t, path+lockSuffix, record(deadPID(t)))
	var third error
	s := newStepped(func(st step) error {
		if (st.op == "replace" || st.op == "remove") && st.after && third == nil {
			_, third = try(t, path)
		}
		return nil
	})
	l, err := acquireFor(t, s, newProcess(), path, Wait(0))
	require.NoError(t, err)
	_, told := l.Takeover()
	assert.True(t, told)
	assert.ErrorIs(t, third, ErrHeld)
	require.NoError(t, l.Release())
}
