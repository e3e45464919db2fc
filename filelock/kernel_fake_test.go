package filelock

import (
	"context"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/sys"
)

// kernelFake is a machine each of whose steps can be failed instead of done, or after it was done.
type kernelFake struct {
	kernelSystem
	on       func(op string, f lockFile) error // an error stands for the call's own
	done     func(op string) error
	owners   *[]int // nil: the real ones
	presence *sys.Presence
	clock    func() time.Time
	timers   func(f func()) timer
	watching func(wake func())                           // takes the place of the real watch
	pausing  func(d time.Duration, wake <-chan struct{}) // called before each pause
}

func (k *kernelFake) now() time.Time {
	if k.clock != nil {
		return k.clock()
	}
	return k.kernelSystem.now()
}

func (k *kernelFake) after(d time.Duration, f func()) timer {
	if k.timers != nil {
		return k.timers(f)
	}
	return k.kernelSystem.after(d, f)
}

func (k *kernelFake) pause(ctx context.Context, d time.Duration, wake <-chan struct{}) error {
	if k.pausing != nil {
		k.pausing(d, wake)
	}
	return k.kernelSystem.pause(ctx, d, wake)
}

func (k *kernelFake) do(op string, f lockFile, effect func() error) error {
	if k.on != nil {
		if err := k.on(op, f); err != nil {
			return err
		}
	}
	err := effect()
	if k.done != nil {
		if after := k.done(op); after != nil {
			return after
		}
	}
	return err
}

func (k *kernelFake) lockedBy(id sys.FileID) []int {
	if k.owners != nil {
		return *k.owners
	}
	return k.kernelSystem.lockedBy(id)
}

func (k *kernelFake) probe(pid int) sys.Process {
	if k.presence != nil {
		return sys.Process{Presence: *k.presence}
	}
	return k.kernelSystem.probe(pid)
}

func (k *kernelFake) absolute(path string) (abs string, err error) {
	err = k.do("absolute", nil, func() error { abs, err = k.kernelSystem.absolute(path); return err })
	return abs, err
}

func (k *kernelFake) lstat(path string) (info sys.Info, err error) {
	err = k.do("lstat", nil, func() error { info, err = k.kernelSystem.lstat(path); return err })
	return info, err
}

func (k *kernelFake) openLock(root, path string) (lockFile, error) {
	return k.file("open", func() (lockFile, error) { return k.kernelSystem.openLock(root, path) })
}

func (k *kernelFake) createLock(root, path string, perm fs.FileMode) (lockFile, error) {
	return k.file("create", func() (lockFile, error) { return k.kernelSystem.createLock(root, path, perm) })
}

func (k *kernelFake) file(op string, open func() (lockFile, error)) (lockFile, error) {
	var f lockFile
	err := k.do(op, nil, func() (err error) { f, err = open(); return err })
	if err != nil {
		if f != nil {
			f.Close()
		}
		return nil, err
	}
	return &kernelFakeFile{f, k}, nil
}

type kernelFakeFile struct {
	lockFile
	k *kernelFake
}

func (f *kernelFakeFile) TryLock(exclusive bool) error {
	return f.k.do("tryLock", f, func() error { return f.lockFile.TryLock(exclusive) })
}

func (f *kernelFakeFile) Unlock() error { return f.k.do("unlock", f, f.lockFile.Unlock) }

func (f *kernelFakeFile) Close() error { return f.k.do("close", f, f.lockFile.Close) }

func (f *kernelFakeFile) Chmod(perm fs.FileMode) error {
	return f.k.do("chmod", f, func() error { return f.lockFile.Chmod(perm) })
}

func (f *kernelFakeFile) Truncate(size int64) error {
	return f.k.do("truncate", f, func() error { return f.lockFile.Truncate(size) })
}

func (f *kernelFakeFile) Stat() (info sys.Info, err error) {
	err = f.k.do("stat", f, func() error { info, err = f.lockFile.Stat(); return err })
	return info, err
}

func (f *kernelFakeFile) ReadAt(p []byte, at int64) (n int, err error) {
	err = f.k.do("read", f, func() error { n, err = f.lockFile.ReadAt(p, at); return err })
	return n, err
}

func (f *kernelFakeFile) WriteAt(p []byte, at int64) (n int, err error) {
	err = f.k.do("write", f, func() error { n, err = f.lockFile.WriteAt(p, at); return err })
	return n, err
}

func (f *kernelFakeFile) WatchClose(wake func()) (func(), error) {
	if f.k.watching != nil {
		f.k.watching(wake)
		return func() {}, nil
	}
	var stop func()
	err := f.k.do("watch", f, func() (err error) { stop, err = f.lockFile.WatchClose(wake); return err })
	if err != nil {
		return nil, err
	}
	return func() { f.k.do("unwatch", f, func() error { stop(); return nil }) }, nil
}

// kernelFailing fails some operations instead of doing them.
func kernelFailing(err error, ops ...string) *kernelFake {
	return &kernelFake{kernelSystem: osSystem{}, on: func(op string, _ lockFile) error {
		if slices.Contains(ops, op) {
			return err
		}
		return nil
	}}
}

// What is not safe to lock is not even locked: that may be its owner's way of keeping others out.
func TestKernelUnsafeFileIsNotLocked(t *testing.T) {
	path := kernelFile(t)
	write(t, path, nil)
	require.NoError(t, os.Link(path, path+".second"))
	fake := &kernelFake{kernelSystem: osSystem{}, on: func(op string, _ lockFile) error {
		if op == "tryLock" {
			t.Error("locked")
		}
		return nil
	}}
	_, err := kernelFor(t, fake, path)
	assert.ErrorIs(t, err, ErrUnsafePath)
}

// Without watches the waiter looks by itself, at least each 10 ms.
func TestKernelWaitsWithoutWatches(t *testing.T) {
	path := kernelFile(t)
	l := mustKernel(t, path)
	fake := kernelFailing(sys.TooManyFiles, "watch")
	fake.pausing = func(d time.Duration, _ <-chan struct{}) { assert.LessOrEqual(t, d, 10*time.Millisecond) }
	waits := 0
	next, err := kernelFor(t, fake, path, Wait(time.Minute), OnWait(func(Holder) {
		if waits++; waits == 12 {
			assert.NoError(t, l.Release())
		}
	}))
	require.NoError(t, err)
	assert.NoError(t, next.Check())
	var pace backoff
	for range 20 {
		pace.next(false)
	}
	assert.Equal(t, 10*time.Millisecond, pace.next(false))
	for range 10 {
		pace.next(true)
	}
	assert.Equal(t, 200*time.Millisecond, pace.next(true))
}

// The lock that is let go between a try and the watch is had at once, not after a pause.
func TestKernelTriesAgainOnceItWatches(t *testing.T) {
	path := kernelFile(t)
	l := mustKernel(t, path)
	fake := &kernelFake{kernelSystem: osSystem{}}
	fake.on = func(op string, _ lockFile) error {
		if op == "watch" {
			assert.NoError(t, l.Release())
		}
		return nil
	}
	if runtime.GOOS != "linux" {
		t.Skip("nothing is watched here")
	}
	_, err := kernelFor(t, fake, path, Wait(Forever), OnWait(func(Holder) { t.Error("paused") }))
	assert.NoError(t, err)
}

// However a wait ends, nothing is watched afterwards, and what was opened is closed.
func TestKernelWaitLeavesNothing(t *testing.T) {
	for name, end := range map[string]func(cancel func(), holder *KernelLease){
		"cancelled": func(cancel func(), _ *KernelLease) { cancel() },
		"acquired":  func(_ func(), holder *KernelLease) { holder.Release() },
		"timed out": func(func(), *KernelLease) {},
		"panicked":  func(func(), *KernelLease) { panic("on purpose") },
	} {
		t.Run(name, func(t *testing.T) {
			path := kernelFile(t)
			holder := mustKernel(t, path)
			count := map[string]int{}
			table := newKernelTable()
			fake := &kernelFake{kernelSystem: osSystem{}, on: func(op string, _ lockFile) error {
				if count[op]++; op == "close" { // the inode's number may be another lock's from then on
					assert.Empty(t, table.queues.queues)
					assert.Empty(t, table.held)
				}
				return nil
			}}
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			wait := time.Minute
			if name == "timed out" {
				wait = 100 * time.Millisecond
			}
			func() {
				defer func() { assert.Equal(t, name == "panicked", recover() != nil) }()
				l, err := kernelWith(t, ctx, fake, table, path, Wait(wait),
					OnWait(func(Holder) { end(cancel, holder) }))
				if err == nil {
					assert.NoError(t, l.Release())
				}
				assert.Equal(t, name == "acquired", err == nil, "%v", err)
			}()
			assert.Equal(t, 1, count["watch"])
			if runtime.GOOS == "linux" {
				assert.Equal(t, 1, count["unwatch"])
			}
			assert.Equal(t, count["open"], count["close"])
			assert.Empty(t, table.queues.queues)
			assert.Empty(t, table.held)
		})
	}
}

// Goroutines that have handed a lock on among themselves for long leave it to others for a moment, unless they are eager.
func TestKernelLetsOthersIn(t *testing.T) {
	for _, eager := range []bool{false, true} {
		path := kernelFile(t)
		table := newKernelTable()
		holder, err := kernelWith(t, context.Background(), osSystem{}, table, path)
		require.NoError(t, err)
		table.queues.streaks[holder.key] = time.Now().Add(-2 * longestStreak)
		left := 0
		fake := &kernelFake{kernelSystem: osSystem{}, pausing: func(d time.Duration, wake <-chan struct{}) {
			if wake == nil && d == longestPause {
				left++
			}
		}}
		opts := []Option{Wait(Forever), OnWait(func(Holder) { holder.Release() })}
		if eager {
			opts = append(opts, Eager())
		}
		_, err = kernelWith(t, context.Background(), fake, table, path, opts...)
		require.NoError(t, err)
		assert.Equal(t, !eager, left == 1, "left free %d times", left)
	}
}

func TestKernelSaysOnceThatItWaits(t *testing.T) {
	path := kernelFile(t)
	holder := mustKernel(t, path)
	var text strings.Builder
	began, pauses := time.Now(), 0
	fake := &kernelFake{kernelSystem: osSystem{}, clock: func() time.Time { return began.Add(time.Duration(pauses) * time.Second) }}
	fake.pausing = func(time.Duration, <-chan struct{}) {
		if pauses++; pauses == 6 {
			assert.NoError(t, holder.Release())
		}
	}
	_, err := kernelFor(t, fake, path, Wait(Forever), Logger(slog.New(slog.NewTextHandler(&text, nil))))
	require.NoError(t, err)
	assert.Equal(t, 1, strings.Count(text.String(), `level=INFO msg="still waiting for lock"`), text.String())
	assert.Contains(t, text.String(), "waited=3s")
}

// Pauses double from a quarter of a millisecond on, and begin anew with each wake: the lock may be let go a moment after it.
func TestKernelLooksOftenAfterAWake(t *testing.T) {
	path := kernelFile(t)
	holder := mustKernel(t, path)
	var wake func()
	var pauses []time.Duration
	fake := &kernelFake{kernelSystem: osSystem{}, watching: func(w func()) { wake = w }}
	fake.pausing = func(d time.Duration, _ <-chan struct{}) {
		pauses = append(pauses, d)
		switch len(pauses) {
		case 4, 6:
			wake()
			wake()
		case 8:
			assert.NoError(t, holder.Release())
		}
	}
	_, err := kernelFor(t, fake, path, Wait(Forever))
	require.NoError(t, err)
	const first = 250 * time.Microsecond
	assert.Equal(t, []time.Duration{first, 2 * first, 4 * first, 8 * first, first, 2 * first, first, 2 * first}, pauses)
}

// A wait ends when it was to end, not when the pause that was begun would.
func TestKernelWaitIsExact(t *testing.T) {
	for _, queued := range []bool{false, true} {
		path := kernelFile(t)
		table := newKernelTable()
		holder, err := kernelWith(t, context.Background(), osSystem{}, table, path)
		require.NoError(t, err)
		if !queued {
			table = newKernelTable()
		}
		const wait = 7100 * time.Microsecond
		began, paused := time.Now(), time.Duration(0)
		fake := &kernelFake{kernelSystem: osSystem{}, clock: func() time.Time { return began.Add(paused) }}
		fake.pausing = func(d time.Duration, _ <-chan struct{}) { paused += d }
		_, err = kernelWith(t, context.Background(), fake, table, path, Wait(wait))
		var held *HeldError
		require.ErrorAs(t, err, &held)
		assert.Equal(t, wait, paused)
		assert.Equal(t, wait, held.Waited)
		require.NoError(t, holder.Release())
	}
}

// Others make and remove the name at the same moment; macOS answers "no such file" to some who make one name at once.
func TestKernelOpeningIsTriedAgain(t *testing.T) {
	path := kernelFile(t)
	count := map[string]int{}
	fake := &kernelFake{kernelSystem: osSystem{}, on: func(op string, _ lockFile) error {
		count[op]++
		switch {
		case op == "create" && count[op] == 1:
			return sys.Exists
		case op == "create" && count[op] == 2:
			return sys.NotExist
		}
		return nil
	}}
	_, err := kernelFor(t, fake, path)
	require.NoError(t, err)
	assert.Equal(t, 3, count["create"])

	_, err = kernelFor(t, kernelFailing(sys.NotExist, "open", "create"), path, Wait(Forever))
	var failed *Error
	require.ErrorAs(t, err, &failed)
	assert.ErrorIs(t, err, fs.ErrNotExist)
	_, err = kernelFor(t, osSystem{}, filepath.Join(filepath.Dir(path), "missing", "run.lock"))
	assert.ErrorIs(t, err, fs.ErrNotExist)
}

// replacing has the lock file replaced after each successful try, n times.
func replacing(t *testing.T, path string, n int) *kernelFake {
	fake := &kernelFake{kernelSystem: osSystem{}}
	fake.done = func(op string) error {
		if op == "tryLock" && n != 0 {
			n--
			require.NoError(t, os.Rename(path, path+".old"))
			write(t, path, nil)
		}
		return nil
	}
	return fake
}

func TestKernelFileReplacedWhileItIsLocked(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the system keeps the file as long as it is open")
	}
	for _, n := range []int{1, 2, 3, 7} {
		path := kernelFile(t)
		l, err := kernelFor(t, replacing(t, path, n), path, Wait(time.Minute))
		require.NoError(t, err)
		assert.NoError(t, l.Check(), "the locked inode is the one that the path names")
		assert.ErrorIs(t, refusedKernel(t, path), ErrHeld)
		require.NoError(t, l.Release())
	}
	for _, wait := range []time.Duration{0, 30 * time.Millisecond} {
		path := kernelFile(t)
		_, err := kernelFor(t, replacing(t, path, -1), path, Wait(wait))
		var failed *Error
		require.ErrorAs(t, err, &failed)
		assert.ErrorIs(t, err, errReplaced)
		assert.NotErrorIs(t, err, ErrUnavailable)
	}
	path := kernelFile(t)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer cancel()
	_, err := kernelWith(t, ctx, replacing(t, path, -1), newKernelTable(), path, Wait(Forever))
	assert.ErrorIs(t, err, context.DeadlineExceeded)
}

// A second name that appears between opening and locking is found before anything is written.
func TestKernelLinkedWhileItIsLocked(t *testing.T) {
	path := kernelFile(t)
	write(t, path, []byte("victim"))
	fake := &kernelFake{kernelSystem: osSystem{}}
	fake.done = func(op string) error {
		if op == "tryLock" {
			require.NoError(t, os.Link(path, path+".second"))
		}
		return nil
	}
	_, err := kernelFor(t, fake, path)
	assert.ErrorIs(t, err, ErrUnsafePath)
	assert.Equal(t, "victim", read(t, path))
}

// Metadata is for people: a full disk does not keep anybody from the lock.
func TestKernelMetadataThatCannotBeWritten(t *testing.T) {
	for _, op := range []string{"write", "truncate"} {
		path := kernelFile(t)
		write(t, path, make([]byte, maxRecord))
		l, err := kernelFor(t, kernelFailing(sys.NoSpace, op), path)
		require.NoError(t, err)
		assert.ErrorIs(t, l.WriteMetadata(Metadata{PID: 1}), sys.NoSpace)
		assert.NoError(t, l.Release())
	}
}

// A look that fails says nothing about the file, so it is no loss.
func TestKernelFailedLookIsNoLoss(t *testing.T) {
	path := kernelFile(t)
	fail := false
	fake := &kernelFake{kernelSystem: osSystem{}, on: func(op string, _ lockFile) error {
		if op == "lstat" && fail {
			return sys.IO
		}
		return nil
	}}
	l, err := kernelFor(t, fake, path)
	require.NoError(t, err)
	fail = true
	assert.NoError(t, l.Check())
	assert.NoError(t, l.Release())
}

// beats counts how often a timer was set again.
type beats struct{ set []time.Duration }

func (b *beats) Stop() bool                 { return true }
func (b *beats) Reset(d time.Duration) bool { b.set = append(b.set, d); return true }

// The look for loss goes on each 400 ms as long as the lock is held, and no longer.
func TestKernelLooksForLossAgainAndAgain(t *testing.T) {
	path := kernelFile(t)
	var beat func()
	b := &beats{}
	fake := &kernelFake{kernelSystem: osSystem{}, timers: func(f func()) timer { beat = f; return b }}
	l, err := kernelFor(t, fake, path)
	require.NoError(t, err)
	for n := range 3 {
		beat()
		assert.Len(t, b.set, n+1)
		assert.Equal(t, 400*time.Millisecond, b.set[n])
	}
	if os.Remove(path) == nil {
		beat()
		assert.ErrorIs(t, l.Err(), ErrLost)
		assert.ErrorIs(t, l.Release(), ErrLost)
	} else {
		require.NoError(t, l.Release())
	}
	beat()
	assert.Len(t, b.set, 3)
}

// Where a removed name lingers, being refused says nothing about a holder: tried again until the wait ends.
func TestKernelLingeringName(t *testing.T) {
	path := kernelFile(t)
	opens := 0
	fake := &kernelFake{kernelSystem: lingering{}, on: func(op string, _ lockFile) error {
		if op == "open" {
			if opens++; opens < 6 {
				return sys.NotPermitted
			}
		}
		return nil
	}}
	l, err := kernelFor(t, fake, path)
	require.NoError(t, err)
	require.NoError(t, l.Release())
	fake.on = kernelFailing(sys.InUse, "open").on
	_, err = kernelFor(t, fake, path, Wait(0))
	assert.ErrorIs(t, err, sys.InUse)
	assert.NotErrorIs(t, err, ErrUnavailable)
	fake.on = kernelFailing(sys.InUse, "lstat").on
	_, err = kernelFor(t, fake, path, Wait(0))
	assert.ErrorIs(t, err, sys.InUse)
}

type lingering struct{ osSystem }

func (lingering) namesLinger() bool { return true }

// Step 1, 2, 3 … fails, before and after its effect, until a run has no such step: the error says what and where and is never
// "held", and the next contender gets in.
func TestKernelEveryStepFails(t *testing.T) {
	answers := map[string][]error{
		"absolute": {sys.NotExist}, "open": {sys.AccessDenied, sys.TooManyFiles, sys.ReadOnly, sys.IO},
		"create": {sys.NoSpace, sys.AccessDenied, sys.ReadOnly}, "chmod": {sys.NotPermitted}, "stat": {sys.IO},
		"tryLock": {sys.IO, sys.Unsupported}, "lstat": {sys.AccessDenied, sys.IO}, "write": {sys.NoSpace}, "truncate": {sys.IO},
		"unlock": {sys.IO}, "close": {sys.IO}, "read": {sys.IO},
	}
	hits := map[string]int{}
	for _, before := range []string{"", strings.Repeat("0", 40) + "4242-1\n" /* it is cut */} {
		for _, late := range []bool{false, true} {
			for n := 1; ; n++ {
				reached := false
				for k := 0; ; k++ {
					path := kernelFile(t)
					if before != "" {
						write(t, path, []byte(before))
					}
					hit, count := "", 0
					fail := func(op string) error {
						if count++; count == n && k < len(answers[op]) {
							hit = op
							return answers[op][k]
						}
						return nil
					}
					fake := &kernelFake{kernelSystem: osSystem{}}
					if late {
						fake.done = fail
					} else {
						fake.on = func(op string, f lockFile) error {
							err := fail(op)
							if err != nil && op == "close" { // a descriptor is closed whatever close says
								f.(*kernelFakeFile).lockFile.Close()
							}
							return err
						}
					}
					l, err := kernelFor(t, fake, path, Wait(0))
					if err == nil {
						err = l.Release()
					}
					if hit == "" {
						break
					}
					reached = true
					hits[hit]++
					var failed *Error
					if err != nil {
						assert.ErrorAs(t, err, &failed, "%s %d", hit, n)
						assert.NotErrorIs(t, err, ErrUnavailable, "%s %d", hit, n)
					}
					require.NoError(t, mustKernel(t, path).Release(), "after %s %d", hit, n)
				}
				if !reached {
					break
				}
			}
		}
	}
	for op := range answers {
		assert.NotZero(t, hits[op], "%s was never made to fail", op)
	}
}
