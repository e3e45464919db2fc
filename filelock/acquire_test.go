package filelock

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/sys"
)

func TestLockOnDisk(t *testing.T) {
	path := target(t)
	l, err := Acquire(context.Background(), path)
	require.NoError(t, err)
	assert.Equal(t, path+".lock", l.Path())
	assert.Equal(t, string(record(os.Getpid())), read(t, path+".lock"))
	if runtime.GOOS != "windows" {
		info, err := os.Lstat(path + ".lock")
		require.NoError(t, err)
		assert.Equal(t, fs.FileMode(0o600), info.Mode())
	}
	assert.NoError(t, l.Err())
	assert.NoError(t, l.Check())
	_, taken := l.Takeover()
	assert.False(t, taken)

	require.NoError(t, l.Release())
	assert.Empty(t, entries(t, path))
	assert.ErrorIs(t, l.Err(), ErrReleased)
	assert.ErrorIs(t, l.Check(), ErrReleased)
	select {
	case <-l.Done():
	default:
		t.Error("Done is open after Release")
	}
}

// Every form of publishing makes the same lock, guarded, and leaves nothing else.
func TestForms(t *testing.T) {
	for f, refused := range formRefusals {
		path := target(t)
		s := newStepped(refuse(sys.Unsupported, refused...))
		l, err := acquireFor(t, s, newProcess(), path, Wait(0))
		require.NoError(t, err, f)
		assert.Equal(t, []string{"settings.json.lock"}, entries(t, path), f)
		assert.Equal(t, string(record(os.Getpid())), read(t, path+lockSuffix))
		assert.True(t, l.inode.guarded)

		_, err = try(t, path)
		var held *HeldError
		require.ErrorAs(t, err, &held, f)
		assert.Equal(t, string(guardHeld), held.Holder.Why, f)

		require.NoError(t, l.Release())
		assert.Empty(t, entries(t, path), f)
	}
}

// A policy that refuses a form with whatever it likes, or a missing /proc, makes no difference.
func TestFormRefusedByPolicy(t *testing.T) {
	for _, kind := range []sys.Kind{sys.NotPermitted, sys.AccessDenied, sys.Unsupported, sys.Invalid, sys.IsDirectory, sys.NotExist, sys.CrossDevice} {
		for _, ops := range [][]string{{"linkUnnamed"}, {"createUnnamed", "moveNew"}, {"linkUnnamed", "moveNew", "link"}} {
			path := target(t)
			l, err := acquireFor(t, newStepped(refuse(kind, ops...)), newProcess(), path, Wait(0))
			if runtime.GOOS == "windows" && kind == sys.NotPermitted {
				continue // that is contention there
			}
			require.NoError(t, err, "%v %v", kind, ops)
			assert.Equal(t, []string{"settings.json.lock"}, entries(t, path), "%v %v", kind, ops)
			require.NoError(t, l.Release())
		}
	}
}

// A network file system may report a failure of what it has done.
func TestPublishedAlthoughItFailed(t *testing.T) {
	for f, op := range map[form]string{unnamed: "linkUnnamed", moved: "moveNew", linked: "link"} {
		if runtime.GOOS == "windows" && f != moved || runtime.GOOS != "linux" && f == unnamed {
			continue
		}
		for _, kind := range []sys.Kind{sys.Exists, sys.IO} {
			path := target(t)
			s := newStepped(nil)
			s.on = func(st step) error {
				if st.op == op && st.after {
					return kind
				}
				return refuse(sys.Unsupported, formRefusals[f]...)(st)
			}
			l, err := acquireFor(t, s, newProcess(), path, Wait(0))
			require.NoError(t, err, op)
			assert.Equal(t, []string{"settings.json.lock"}, entries(t, path), op)
			require.NoError(t, l.Release())
			assert.Empty(t, entries(t, path))
		}
	}
}

// A prepared inode that waited is not published with old times: other lockers judge by age.
func TestTimesAreFreshWhenPublished(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only unnamed files are kept while waiting")
	}
	path := target(t)
	s := newStepped(nil)
	s.pauseFor = true
	lost := false
	touched := 0
	s.on = func(st step) error {
		switch {
		case st.op == "linkUnnamed" && !st.after && !lost:
			lost = true
			write(t, path+lockSuffix, []byte("somebody\n"))
			old := time.Now().Add(-time.Hour)
			for _, f := range openUnnamed(t, filepath.Dir(path)) {
				touched++
				require.NoError(t, os.Chtimes(f, old, old))
			}
		case st.op == "pause" && s.virtual > 300*time.Millisecond:
			os.Remove(path + lockSuffix)
		}
		return nil
	}
	l, err := acquireFor(t, s, newProcess(), path)
	require.NoError(t, err)
	require.Equal(t, 1, touched, "the prepared inode")
	info, err := os.Stat(path + lockSuffix)
	require.NoError(t, err)
	assert.Less(t, time.Since(info.ModTime()), time.Minute)
	require.NoError(t, l.Release())
}

// openUnnamed lists this process's descriptors of unnamed files in dir.
func openUnnamed(t *testing.T, dir string) (paths []string) {
	t.Helper()
	links, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	for _, l := range links {
		p := "/proc/self/fd/" + l.Name()
		if to, _ := os.Readlink(p); strings.HasPrefix(to, dir) && strings.HasSuffix(to, "(deleted)") {
			paths = append(paths, p)
		}
	}
	return paths
}

// What names nobody is waited for and kept, and the error says what was found.
func TestRecordsThatNameNobody(t *testing.T) {
	for _, c := range []struct{ content, found string }{
		{"", "is empty"},
		{"12", `"12"`},
		{"holder\n", `"holder\n"`},
		{"0\n", `"0\n"`},
		{"-5\n", `"-5\n"`},
		{"2147483648\n", `"2147483648\n"`},
		{"4295967295\n", `"4295967295\n"`}, // 2^32 and a million
		{"99999999999999999999\n", `"99999999999999999999\n"`},
		{"12\r\n", `"12\r\n"`},
		{"\ufeff12\n", `"\ufeff12\n"`},
		{`{"pid":12}` + "\n", `pid`},
		{"12 host\n", `"12 host\n"`},
		{strings.Repeat("7", 10<<20), "longer than any record"},
	} {
		path := target(t)
		write(t, path+lockSuffix, []byte(c.content))
		_, err := try(t, path)
		var held *HeldError
		require.ErrorAs(t, err, &held, "%.20q", c.content)
		assert.Equal(t, Unproven, held.Holder.State)
		assert.True(t, held.Stuck())
		assert.Contains(t, err.Error(), c.found)
		assert.Less(t, len(err.Error()), 300+len(path))
		got, err := os.ReadFile(path + lockSuffix)
		require.NoError(t, err)
		assert.True(t, string(got) == c.content)
	}
}

// Nothing at the lock path but a record is followed, removed, or blocks past the wait.
func TestThingsThatAreNoRecord(t *testing.T) {
	for name, c := range map[string]struct {
		make  func(t *testing.T, lock string) error
		found string
	}{
		"directory":     {func(t *testing.T, lock string) error { return os.Mkdir(lock, 0o700) }, "a directory"},
		"dangling link": {func(t *testing.T, lock string) error { return symlink("nowhere", lock) }, "a symbolic link"},
		"link to a dead record": {func(t *testing.T, lock string) error {
			write(t, lock+".referent", record(deadPID(t)))
			return symlink(lock+".referent", lock)
		}, "a symbolic link"},
		"FIFO": {makeFIFO, "a FIFO"},
	} {
		t.Run(name, func(t *testing.T) {
			path := target(t)
			if err := c.make(t, path+lockSuffix); errors.Is(err, errors.ErrUnsupported) {
				t.Skip("this system has none")
			} else {
				require.NoError(t, err)
			}
			before, err := os.Lstat(path + lockSuffix)
			require.NoError(t, err)
			_, err = try(t, path)
			require.ErrorIs(t, err, ErrHeld)
			assert.Contains(t, err.Error(), c.found)
			after, err := os.Lstat(path + lockSuffix)
			require.NoError(t, err)
			assert.True(t, os.SameFile(before, after))
		})
	}
}

// symlink is errors.ErrUnsupported where links cannot be made, or cannot be looked at once they are made.
func symlink(to, at string) error {
	if err := os.Symlink(to, at); err != nil {
		return fmt.Errorf("%w: %v", errors.ErrUnsupported, err)
	}
	if _, err := os.Lstat(at); err != nil {
		return fmt.Errorf("%w: %v", errors.ErrUnsupported, err)
	}
	return nil
}

func TestOneLockThroughEverySpelling(t *testing.T) {
	dir := t.TempDir()
	real := filepath.Join(dir, "real")
	require.NoError(t, os.Mkdir(real, 0o700))
	spellings := []string{filepath.Join(real, "f"), real + "/./f", real + "/../real/f"}
	if symlink(real, filepath.Join(dir, "link")) == nil {
		spellings = append(spellings, filepath.Join(dir, "link", "f"))
	}
	t.Chdir(real)
	spellings = append(spellings, "f", "./f")
	for _, holder := range spellings {
		l, err := Acquire(context.Background(), holder)
		require.NoError(t, err)
		for _, contender := range spellings {
			_, err := TryAcquire(context.Background(), contender)
			var held *HeldError
			require.ErrorAs(t, err, &held, "%s while %s", contender, holder)
			assert.Equal(t, Ourselves, held.Holder.State)
			assert.Equal(t, os.Getpid(), held.Holder.PID)
			assert.False(t, held.Holder.Since.IsZero())
		}
		require.NoError(t, l.Release())
	}
}

func TestReentrant(t *testing.T) {
	path := target(t)
	err := With(context.Background(), path, func(ctx context.Context, l *Lock) error {
		_, err := Acquire(ctx, path, Wait(Forever))
		assert.ErrorIs(t, err, ErrReentrant)
		assert.NotErrorIs(t, err, ErrUnavailable)
		assert.ErrorIs(t, With(ctx, path, nil), ErrReentrant)
		// deeper, and with another lock in between
		err = With(ctx, path+".other", func(ctx context.Context, _ *Lock) error {
			_, err := Acquire(ctx, filepath.Join(filepath.Dir(path), ".", filepath.Base(path)))
			return err
		})
		assert.ErrorIs(t, err, ErrReentrant)
		// released early: the context holds it no more
		require.NoError(t, l.Release())
		again, err := Acquire(ctx, path)
		require.NoError(t, err)
		return again.Release()
	})
	require.NoError(t, err)
	assert.Empty(t, entries(t, path))
}

func TestContextEndsTheWait(t *testing.T) {
	cause := errors.New("the window was closed")
	for name, hold := range map[string]func(t *testing.T, path string){
		"waiting on disk":  func(t *testing.T, path string) { write(t, path+lockSuffix, []byte("somebody\n")) },
		"waiting in queue": func(t *testing.T, path string) { mustAcquire(t, path) },
	} {
		t.Run(name, func(t *testing.T) {
			path := target(t)
			hold(t, path)
			before := entries(t, path)
			ctx, cancel := context.WithCancelCause(context.Background())
			_, err := Acquire(ctx, path, Wait(Forever), OnWait(func(Holder) { cancel(cause) }))
			require.ErrorIs(t, err, cause)
			assert.ErrorIs(t, err, context.Canceled)
			assert.NotErrorIs(t, err, ErrUnavailable)
			assert.Contains(t, err.Error(), cause.Error())
			assert.Equal(t, before, entries(t, path))
		})
	}
	path := target(t)
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	_, err := Acquire(ctx, path)
	require.ErrorIs(t, err, cause)
	assert.Empty(t, entries(t, path))
}

func mustAcquire(t *testing.T, path string) *Lock {
	t.Helper()
	l, err := Acquire(context.Background(), path)
	require.NoError(t, err)
	t.Cleanup(func() { l.Release() })
	return l
}

func TestPathsThatCannotBeLocked(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "file"), nil)
	for path, want := range map[string]error{
		"":                                ErrInvalidPath,
		".":                               ErrInvalidPath,
		"..":                              ErrInvalidPath,
		filepath.Join(dir, "x") + "/":     ErrInvalidPath,
		dir + "/x/.":                      ErrInvalidPath,
		dir + "/x\x00y":                   ErrInvalidPath,
		filepath.Join(dir, "none", "f"):   fs.ErrNotExist,
		filepath.Join(dir, "file", "f"):   sys.NotDirectory,
		filepath.Join(dir, long(251, "")): sys.NameTooLong,
	} {
		ran := false
		err := With(context.Background(), path, func(context.Context, *Lock) error { ran = true; return nil })
		if kind, ok := want.(sys.Kind); ok {
			if runtime.GOOS == "windows" {
				require.Error(t, err, path)
			} else {
				assert.Equal(t, kind, sys.KindOf(err), "%v", err)
			}
		} else {
			assert.ErrorIs(t, err, want)
		}
		assert.False(t, ran, path)
		assert.NotErrorIs(t, err, ErrUnavailable)
	}
	names, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, names, 1)
}

// long is a file name of n bytes.
func long(n int, suffix string) string { return strings.Repeat("n", n-len(suffix)) + suffix }

func TestLongNames(t *testing.T) {
	for _, n := range []int{224, 225, 250} {
		path := filepath.Join(t.TempDir(), long(n, ""))
		l, err := try(t, path)
		require.NoError(t, err, n)
		require.NoError(t, l.Release())

		write(t, path+lockSuffix, record(deadPID(t)))
		l, err = acquireFor(t, osSystem{}, newProcess(), path, Wait(Forever))
		if n == 224 {
			require.NoError(t, err)
			require.NoError(t, l.Release())
			continue
		}
		require.Error(t, err, "no room for a claim")
		assert.NotErrorIs(t, err, ErrHeld)
		if runtime.GOOS != "windows" {
			assert.Equal(t, sys.NameTooLong, sys.KindOf(err))
		}
		assert.Equal(t, []string{filepath.Base(path) + lockSuffix}, entries(t, path))
	}
}

func TestWithReturnsWhatFnReturns(t *testing.T) {
	path := target(t)
	own := errors.New("own")
	err := With(context.Background(), path, func(context.Context, *Lock) error { return own })
	assert.Equal(t, own, err, "not wrapped")
	assert.Empty(t, entries(t, path))

	assert.PanicsWithValue(t, "boom", func() {
		With(context.Background(), path, func(context.Context, *Lock) error { panic("boom") })
	})
	assert.Empty(t, entries(t, path))
}

// First come, first served within a process, and only the head looks at the disk.
func TestQueueOrder(t *testing.T) {
	path := target(t)
	p := newProcess()
	looks := 0
	s := newStepped(func(st step) error {
		if st.op == "lstat" && !st.after {
			looks++ // the head only: no mutex, so the race detector would tell
		}
		return nil
	})
	first, err := acquireFor(t, osSystem{}, p, path)
	require.NoError(t, err)
	k := first.place.key
	const contenders = 20
	var order []int
	var all sync.WaitGroup
	for n := range contenders {
		all.Go(func() {
			l, err := acquire(context.Background(), s, p, path, newOptions([]Option{Wait(Forever)}))
			if assert.NoError(t, err) {
				order = append(order, n)
				assert.NoError(t, l.Release())
			}
		})
		require.Eventually(t, func() bool {
			p.mu.Lock()
			defer p.mu.Unlock()
			return len(p.queues[k]) == n+2
		}, 10*time.Second, time.Millisecond)
	}
	seen := looks
	_, err = acquireFor(t, s, p, path, Wait(0))
	require.ErrorIs(t, err, ErrHeld)
	assert.Equal(t, seen, looks, "one try with others queued answers without the disk")
	require.NoError(t, first.Release())
	all.Wait()
	for n := range contenders {
		assert.Equal(t, n, order[n])
	}
	assert.Empty(t, p.queues)
	assert.Empty(t, p.held)
}

func TestQueueTimeIsWaiting(t *testing.T) {
	path := target(t)
	mustAcquire(t, path)
	began := time.Now()
	_, err := Acquire(context.Background(), path, Wait(60*time.Millisecond))
	var held *HeldError
	require.ErrorAs(t, err, &held)
	assert.Equal(t, Ourselves, held.Holder.State)
	assert.GreaterOrEqual(t, time.Since(began), 60*time.Millisecond)
	assert.GreaterOrEqual(t, held.Waited, 60*time.Millisecond)
}

// Who queues behind another goroutine that waits for another process is told of that process, and of what keeps that goroutine
// from the lock if that is no holder.
func TestQueueSaysWhoHoldsIt(t *testing.T) {
	for _, what := range []string{"another process", "a claim that cannot be made"} {
		path := target(t)
		s := newStepped(nil)
		pid, refused := 0, error(nil)
		if what == "another process" {
			holder := start(t, command("hold", path))
			require.Contains(t, holder.line(), "held ")
			pid = holder.cmd.Process.Pid
		} else {
			write(t, path+lockSuffix, record(deadPID(t)))
			refused = sys.NotPermitted
			s.on = refuse(refused, "createUnnamed", "createNew")
		}
		p := newProcess()
		ctx, cancel := context.WithCancel(context.Background())
		waits, ended := make(chan struct{}), make(chan error)
		go func() {
			_, err := acquire(ctx, s, p, path, newOptions([]Option{Wait(Forever), OnWait(onceClose(waits))}))
			ended <- err
		}()
		<-waits
		for _, wait := range []time.Duration{0, 30 * time.Millisecond} {
			_, err := acquireFor(t, s, p, path, Wait(wait), OnWait(func(h Holder) { assert.NotEqual(t, Ourselves, h.State, what) }))
			if refused != nil {
				assert.ErrorIs(t, err, refused, "%v", wait)
				assert.NotErrorIs(t, err, ErrHeld, "%v", wait)
				continue
			}
			var held *HeldError
			require.ErrorAs(t, err, &held)
			assert.Equal(t, pid, held.Holder.PID)
			assert.Equal(t, Alive, held.Holder.State)
			assert.NotContains(t, err.Error(), "this process")
			assert.Equal(t, wait > 0, held.Waited > 0)
		}
		cancel()
		assert.ErrorIs(t, <-ended, context.Canceled)
	}
}

// However long the system takes for one try, its error does not speak of a wait.
func TestOneTryHasNotWaited(t *testing.T) {
	path, place, name := target(t), newPlace(t), newName()
	mustAcquire(t, path)
	other := mustKernel(t, kernelFile(t))
	table := newKernelTable()
	own, err := kernelWith(t, context.Background(), osSystem{}, table, kernelFile(t))
	require.NoError(t, err)
	mustNamed(t, namedIn(place, CurrentUser, name))
	for _, c := range []struct {
		name string
		try  func() error
	}{
		{"record lock of this process", func() error { _, err := TryAcquire(context.Background(), path); return err }},
		{"record lock of another", func() error { _, err := try(t, path); return err }},
		{"kernel lock of this process", func() error {
			_, err := kernelWith(t, context.Background(), osSystem{}, table, own.Path(), Wait(0))
			return err
		}},
		{"kernel lock of another", func() error { return refusedKernel(t, other.Path()) }},
		{"named lock", func() error { _, err := namedIn(place, CurrentUser, name).TryAcquire(context.Background()); return err }},
	} {
		err := c.try()
		var held *HeldError
		require.ErrorAs(t, err, &held, c.name)
		assert.Zero(t, held.Waited, c.name)
		assert.NotContains(t, err.Error(), "gave up", c.name)
	}
}

func TestLongWaitIsLoggedOnce(t *testing.T) {
	path := target(t)
	write(t, path+lockSuffix, []byte("1\n"))
	s := newStepped(nil)
	s.pauseFor = true
	s.probes = func(int) sys.Process { return sys.Process{Presence: sys.Present} }
	var out bytes.Buffer
	calls := 0
	_, err := acquireFor(t, s, newProcess(), path, Wait(10*time.Second), OnWait(func(h Holder) { calls++; assert.Equal(t, 1, h.PID) }),
		Logger(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelInfo}))))
	require.ErrorIs(t, err, ErrHeld)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 1, out.String())
	assert.Contains(t, lines[0], "pid=1")
	assert.Contains(t, lines[0], "waited=3")
	assert.Contains(t, lines[0], "level=INFO")
	assert.Greater(t, calls, 40)
}

func TestDebugLogTellsTheSteps(t *testing.T) {
	path := target(t)
	write(t, path+lockSuffix, record(deadPID(t)))
	var out bytes.Buffer
	l, err := try(t, path, Logger(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))))
	require.NoError(t, err)
	require.NoError(t, l.Release())
	at := 0
	for _, step := range []string{"publishing", "ending a dead holder's lock", "level=WARN", "acquired lock", "releasing lock"} {
		n := strings.Index(out.String()[at:], step)
		require.GreaterOrEqual(t, n, 0, "%s in\n%s", step, out.String())
		at += n
	}
}

// On a system where names linger, what is on its way out refuses everything: that is contention, and the system's answer
// only if the name is still absent when the wait ends.
func TestLingeringNames(t *testing.T) {
	for _, kind := range []sys.Kind{sys.NotPermitted, sys.InUse} {
		path := target(t)
		s := newStepped(nil)
		s.linger, s.pauseFor = true, true
		refusals := 0
		s.on = func(st step) error {
			if (st.op == "linkUnnamed" || st.op == "moveNew") && !st.after && refusals < 3 {
				refusals++
				return kind
			}
			return nil
		}
		l, err := acquireFor(t, s, newProcess(), path)
		require.NoError(t, err)
		require.NoError(t, l.Release())
		assert.Equal(t, 3, refusals)

		refusals = -1000
		_, err = acquireFor(t, s, newProcess(), path, Wait(100*time.Millisecond))
		assert.Equal(t, kind, sys.KindOf(err))
		assert.NotErrorIs(t, err, ErrHeld)
		assert.Empty(t, entries(t, path))
	}
}
