package filelock

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/sys"
)

// kernelFile is the path of a lock file that does not exist, in a directory of its own.
func kernelFile(t testing.TB) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "run.lock")
}

// kernelFor acquires as another process would that shares nothing with this one's table.
func kernelFor(t testing.TB, s kernelSystem, path string, opts ...Option) (*KernelLease, error) {
	t.Helper()
	return kernelWith(t, context.Background(), s, newKernelTable(), path, opts...)
}

func kernelWith(t testing.TB, ctx context.Context, s kernelSystem, table *kernelTable, path string, opts ...Option) (*KernelLease, error) {
	t.Helper()
	l, err := acquireKernel(ctx, s, table, kernelPath{path: path}, newOptions(opts))
	if err == nil {
		t.Cleanup(func() { l.Release() })
	}
	return l, err
}

func mustKernel(t testing.TB, path string, opts ...Option) *KernelLease {
	t.Helper()
	l, err := kernelFor(t, osSystem{}, path, append([]Option{Wait(0)}, opts...)...)
	require.NoError(t, err)
	return l
}

// refusedKernel is the error of one try.
func refusedKernel(t testing.TB, path string, opts ...Option) error {
	t.Helper()
	_, err := kernelFor(t, osSystem{}, path, append([]Option{Wait(0)}, opts...)...)
	require.Error(t, err)
	return err
}

func TestKernelIsHeldUntilReleased(t *testing.T) {
	path := kernelFile(t)
	l := mustKernel(t, path)
	assert.Equal(t, path, l.Path())
	assert.NoError(t, l.Err())
	assert.NoError(t, l.Check())
	err := refusedKernel(t, path, OnWait(func(Holder) { t.Error("one try waits") }))
	assert.ErrorIs(t, err, ErrHeld)
	assert.ErrorIs(t, err, ErrUnavailable)

	require.NoError(t, l.Release())
	assert.ErrorIs(t, l.Err(), ErrReleased)
	assert.ErrorIs(t, l.Check(), ErrReleased)
	<-l.Done()
	assert.Equal(t, []string{"run.lock"}, entries(t, path), "the file stays")
	next := mustKernel(t, path)
	assert.NoError(t, l.Release(), "the second release does nothing")
	assert.NoError(t, next.Check())
	assert.ErrorIs(t, refusedKernel(t, path), ErrHeld, "and does not unlock the next holder's")
}

func TestKernelReleaseAtOnce(t *testing.T) {
	l := mustKernel(t, kernelFile(t))
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() { assert.NoError(t, l.Release()) })
	}
	all.Wait()
}

func TestKernelFileIsPrivate(t *testing.T) {
	path := kernelFile(t)
	mustKernel(t, path)
	info, err := os.Stat(path)
	require.NoError(t, err)
	if runtime.GOOS != "windows" {
		assert.Equal(t, os.FileMode(0o600), info.Mode())
	}
}

func TestKernelLeavesTheModeOfAnExistingFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no modes here")
	}
	path := kernelFile(t)
	require.NoError(t, os.WriteFile(path, nil, 0o640))
	require.NoError(t, os.Chmod(path, 0o640))
	mustKernel(t, path)
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o640), info.Mode())
}

// A file that somebody keeps something in is locked and left as it is: a program may lock the very file that it protects.
func TestKernelLeavesOtherContent(t *testing.T) {
	for _, content := range []string{`{"theme":"dark"}`, "hello\n", " ", "4242-7\n\nplan", "\ufeff4242\n", "2026-11-30\n", "10\n20\n", "1-2\n3", "\n1", strings.Repeat("0", maxRecord+1), strings.Repeat("x", 5000)} {
		path := kernelFile(t)
		write(t, path, []byte(content))
		l := mustKernel(t, path)
		assert.ErrorIs(t, refusedKernel(t, path), ErrHeld)
		assert.ErrorIs(t, l.WriteMetadata(Metadata{PID: 1}), errOtherContent)
		require.NoError(t, l.Release())
		after, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, content, string(after))
	}
}

// So is one that got its content, of any length, after this process had written its metadata there.
func TestKernelLeavesLaterContent(t *testing.T) {
	path, table := kernelFile(t), newKernelTable()
	lock := func() {
		l, err := kernelWith(t, context.Background(), osSystem{}, table, path, Wait(0))
		require.NoError(t, err)
		require.NoError(t, l.Release())
	}
	lock()
	content := strings.Repeat("x", len(read(t, path)))
	write(t, path, []byte(content)) // into the same file
	lock()
	assert.Equal(t, content, read(t, path))
}

// What was in the file of metadata, of whatever form, whole or torn, is no obstacle and is replaced to the byte.
func TestKernelMetadataOnDisk(t *testing.T) {
	dead := deadPID(t)
	for name, before := range map[string]string{
		"missing":       "",
		"older form":    fmt.Sprintf("%d\n", dead),
		"of the dead":   fmt.Sprintf("%d-7\n", dead),
		"of the living": fmt.Sprintf("%d-7\n", os.Getppid()),
		"longer":        strings.Repeat("0", 50) + "4242-7\n",
		"shorter":       "1",
		"torn":          fmt.Sprintf("%d-", dead),
		"a power cut's": "\x00\x00\x00\x00\x00\x00\x00",
	} {
		t.Run(name, func(t *testing.T) {
			path := kernelFile(t)
			if before != "" {
				write(t, path, []byte(before))
			}
			table := newKernelTable()
			for n := range 3 {
				l, err := kernelWith(t, context.Background(), osSystem{}, table, path, Wait(0))
				require.NoError(t, err)
				want := fmt.Sprintf("%d-%d\n", os.Getpid(), n+1)
				assert.Equal(t, want, read(t, path), "while held")
				require.NoError(t, l.Release())
				assert.Equal(t, want, read(t, path), "afterwards")
			}
		})
	}
}

func TestKernelWriteMetadata(t *testing.T) {
	path := kernelFile(t)
	l := mustKernel(t, path)
	for _, m := range []Metadata{{PID: 1234567, Sequence: 1 << 60}, {PID: 1}} {
		require.NoError(t, l.WriteMetadata(m))
		assert.Equal(t, m.String()+"\n", read(t, path))
	}
	beyond := maxPID
	beyond++ // the smallest number where int has 32 bits
	for _, pid := range []int{0, -1, beyond} {
		assert.ErrorIs(t, l.WriteMetadata(Metadata{PID: pid}), errNoProcess)
	}
	assert.Equal(t, "1-0\n", read(t, path))
	require.NoError(t, l.Release())
	assert.ErrorIs(t, l.WriteMetadata(Metadata{PID: 2}), ErrReleased)
	reader := mustKernel(t, path, Shared())
	assert.ErrorIs(t, reader.WriteMetadata(Metadata{PID: 2}), errSharedMetadata)
	assert.Equal(t, "1-0\n", read(t, path), "readers write none")
	require.NoError(t, reader.Release())

	l = mustKernel(t, path)
	before := read(t, path)
	require.NoError(t, os.Link(path, path+".second"))
	assert.ErrorIs(t, l.WriteMetadata(Metadata{PID: 2}), ErrUnsafePath, "a second name may be somebody's file")
	assert.Equal(t, before, read(t, path))
}

func TestKernelShared(t *testing.T) {
	path := kernelFile(t)
	first, second := mustKernel(t, path, Shared()), mustKernel(t, path, Shared())
	assert.ErrorIs(t, refusedKernel(t, path), ErrHeld)
	require.NoError(t, first.Release())
	assert.ErrorIs(t, refusedKernel(t, path), ErrHeld)
	require.NoError(t, second.Release())
	writer := mustKernel(t, path)
	assert.ErrorIs(t, refusedKernel(t, path, Shared()), ErrHeld)
	require.NoError(t, writer.Release())
	mustKernel(t, path, Shared())
}

// Readers of one process do not queue behind one that holds; a writer behind them gets in when the last has gone.
func TestKernelSharedInOneProcess(t *testing.T) {
	path := kernelFile(t)
	table := newKernelTable()
	ctx := context.Background()
	var readers []*KernelLease
	for range 3 {
		l, err := kernelWith(t, ctx, osSystem{}, table, path, Wait(0), Shared())
		require.NoError(t, err)
		readers = append(readers, l)
	}
	waiting, got := make(chan struct{}), make(chan error)
	go func() {
		_, err := kernelWith(t, ctx, osSystem{}, table, path, Wait(time.Minute), OnWait(onceClose(waiting)))
		got <- err
	}()
	<-waiting
	for _, l := range readers {
		require.NoError(t, l.Release())
	}
	assert.NoError(t, <-got)
}

func onceClose(c chan struct{}) func(Holder) {
	once := sync.OnceFunc(func() { close(c) })
	return func(Holder) { once() }
}

func TestKernelReentrant(t *testing.T) {
	path := kernelFile(t)
	link := filepath.Join(filepath.Dir(path), ".", "run.lock")
	for _, inner := range []Locker{
		Kernel(path, Wait(Forever)), Kernel(link, Wait(Forever), Shared()),
		KernelAt(filepath.Dir(path), "run.lock", Wait(Forever)),
	} {
		err := Do(context.Background(), Kernel(path), func(ctx context.Context, _ Lease) error {
			return Do(ctx, inner, func(context.Context, Lease) error { return errors.New("ran") })
		})
		assert.ErrorIs(t, err, ErrReentrant)
		assert.NotErrorIs(t, err, ErrUnavailable)
	}
}

// The first is told, the second is the holder: never silently two.
func TestKernelFileTakenAway(t *testing.T) {
	for name, c := range map[string]struct {
		take  func(path string) error
		found string
	}{
		"unlinked": {os.Remove, "nothing is there"},
		"replaced": {func(path string) error {
			if err := os.WriteFile(path+".new", nil, 0o600); err != nil {
				return err
			}
			return os.Rename(path+".new", path)
		}, "another file is there"},
		"moved away": {func(path string) error { return os.Rename(path, path+".old") }, "nothing is there"},
		"made a directory": {func(path string) error {
			return errors.Join(os.Remove(path), os.Mkdir(path, 0o700))
		}, "something else is there"},
		"with its directory": {func(path string) error {
			dir := filepath.Dir(path)
			return errors.Join(os.Rename(dir, dir+".old"), os.Mkdir(dir, 0o700))
		}, "nothing is there"},
		"with a file for its directory": {func(path string) error {
			dir := filepath.Dir(path)
			return errors.Join(os.Rename(dir, dir+".old"), os.WriteFile(dir, nil, 0o600))
		}, "nothing is there"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "dir", "run.lock")
			require.NoError(t, os.Mkdir(filepath.Dir(path), 0o700))
			l := mustKernel(t, path)
			if err := c.take(path); err != nil && runtime.GOOS == "windows" {
				t.Skip("the system keeps the file as long as it is open:", err)
			} else {
				require.NoError(t, err)
			}
			select {
			case <-l.Done():
			case <-time.After(10 * time.Second):
				t.Fatal("not told")
			}
			var lost *LostError
			require.ErrorAs(t, l.Err(), &lost)
			assert.ErrorIs(t, lost, ErrLost)
			assert.Equal(t, &LostError{path, c.found}, lost)
			assert.ErrorIs(t, l.WriteMetadata(Metadata{PID: 2}), ErrLost)
			if name == "made a directory" || name == "with a file for its directory" {
				assert.ErrorIs(t, l.Release(), ErrLost)
			} else {
				second := mustKernel(t, path)
				assert.ErrorIs(t, l.Release(), ErrLost)
				assert.NoError(t, second.Check(), "the loser touches nothing")
			}
			assert.NoError(t, l.Release(), "said once")
		})
	}
}

// A holding that is too short for the tick learns of its loss at Check and at Release.
func TestKernelLossIsFoundAtRelease(t *testing.T) {
	path := kernelFile(t)
	l := mustKernel(t, path)
	if os.Remove(path) != nil {
		t.Skip("the system keeps the file as long as it is open")
	}
	assert.ErrorIs(t, l.Release(), ErrLost)
	<-l.Done()
	other := mustKernel(t, path)
	require.NoError(t, os.Remove(path))
	assert.ErrorIs(t, other.Check(), ErrLost)
}

// Somebody keeps removing the lock file: holdings may overlap, but never two that both end well.
func TestKernelNeverSilentlyTwo(t *testing.T) {
	path := kernelFile(t)
	type holding struct{ from, to time.Time }
	var mu sync.Mutex
	var clean []holding
	lost := 0
	hold := func(table *kernelTable) bool {
		l, err := acquireKernel(context.Background(), osSystem{}, table, kernelPath{path: path}, newOptions([]Option{Wait(time.Minute)}))
		if !assert.NoError(t, err) {
			return false
		}
		h := holding{from: time.Now()}
		for range 50 {
			runtime.Gosched()
		}
		h.to = time.Now()
		err = l.Release()
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			clean = append(clean, h)
			return true
		}
		lost++
		return assert.ErrorIs(t, err, ErrLost)
	}
	over := make(chan struct{})
	var remover, holders sync.WaitGroup
	remover.Go(func() {
		for {
			select {
			case <-over:
				return
			default:
				os.Remove(path)
				runtime.Gosched()
			}
		}
	})
	for range 4 {
		holders.Go(func() {
			table := newKernelTable()
			for range 300 {
				if !hold(table) {
					return
				}
			}
		})
	}
	holders.Wait()
	close(over)
	remover.Wait()
	t.Logf("%d holdings ended well, %d were lost", len(clean), lost)
	slices.SortFunc(clean, func(a, b holding) int { return a.from.Compare(b.from) })
	for n := 1; n < len(clean); n++ {
		require.False(t, clean[n].from.Before(clean[n-1].to), "two at once, and neither was told")
	}
}

// A waiter on a file that was replaced goes over to the new one.
func TestKernelWaiterFollowsThePath(t *testing.T) {
	path := kernelFile(t)
	l := mustKernel(t, path)
	waiting, got := make(chan struct{}), make(chan error)
	go func() {
		_, err := kernelFor(t, osSystem{}, path, Wait(time.Minute), OnWait(onceClose(waiting)))
		got <- err
	}()
	<-waiting
	if os.Remove(path) != nil {
		l.Release()
		<-got
		t.Skip("the system keeps the file as long as it is open")
	}
	assert.NoError(t, <-got)
	assert.ErrorIs(t, l.Release(), ErrLost)
}

func TestKernelFirstComeFirstServed(t *testing.T) {
	path := kernelFile(t)
	table := newKernelTable()
	l, err := kernelWith(t, context.Background(), osSystem{}, table, path)
	require.NoError(t, err)
	const waiters = 32
	order := make(chan int, waiters)
	var all sync.WaitGroup
	for n := range waiters {
		waiting := make(chan struct{})
		all.Go(func() {
			l, err := kernelWith(t, context.Background(), osSystem{}, table, path, Wait(Forever), OnWait(onceClose(waiting)))
			if assert.NoError(t, err) {
				order <- n
				assert.NoError(t, l.Release())
			}
		})
		<-waiting
	}
	require.NoError(t, l.Release())
	all.Wait()
	for n := range waiters {
		assert.Equal(t, n, <-order)
	}
}

// 256 waiters in one process: only the first of them touches the file, however often it does.
func TestKernelManyWaitersCostOne(t *testing.T) {
	path := kernelFile(t)
	holder := mustKernel(t, path)
	var mu sync.Mutex
	tries := map[lockFile]int{}
	fake := &kernelFake{kernelSystem: osSystem{}, on: func(op string, f lockFile) error {
		if op == "tryLock" {
			mu.Lock()
			defer mu.Unlock()
			tries[f]++
		}
		return nil
	}}
	table := newKernelTable()
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for range 256 {
		waiting := make(chan struct{})
		all.Go(func() {
			_, err := kernelWith(t, ctx, fake, table, path, Wait(Forever), OnWait(onceClose(waiting)))
			assert.ErrorIs(t, err, context.Canceled)
		})
		<-waiting
	}
	mu.Lock()
	assert.Len(t, tries, 1)
	mu.Unlock()
	cancel()
	all.Wait()
	require.NoError(t, holder.Release())
}

func TestKernelCancelledWait(t *testing.T) {
	path := kernelFile(t)
	mustKernel(t, path)
	ctx, cancel := context.WithCancelCause(context.Background())
	why := errors.New("shutting down")
	_, err := kernelWith(t, ctx, osSystem{}, newKernelTable(), path, Wait(Forever), OnWait(func(Holder) { cancel(why) }))
	assert.ErrorIs(t, err, context.Canceled)
	assert.ErrorIs(t, err, why)
	assert.NotErrorIs(t, err, ErrUnavailable)
	free := kernelFile(t)
	_, err = kernelWith(t, ctx, osSystem{}, newKernelTable(), free)
	assert.ErrorIs(t, err, why, "an ended context does not even try")
	assert.NoFileExists(t, free)
}

func TestKernelWaitEnds(t *testing.T) {
	path := kernelFile(t)
	mustKernel(t, path)
	began := time.Now()
	_, err := kernelFor(t, osSystem{}, path, Wait(30*time.Millisecond))
	took := time.Since(began)
	var held *HeldError
	require.ErrorAs(t, err, &held)
	assert.GreaterOrEqual(t, took, 30*time.Millisecond)
	assert.GreaterOrEqual(t, held.Waited, 30*time.Millisecond)
	assert.True(t, held.Kernel)
}

func TestKernelSaysWhoHoldsIt(t *testing.T) {
	me, parent, dead := os.Getpid(), 7777, deadPID(t)
	const hint = "its metadata names it, which is a hint"
	for name, c := range map[string]struct {
		metadata string
		kernel   []int
		probe    sys.Presence
		want     Holder
		says     string
	}{
		"the kernel":       {"1\n", []int{parent}, sys.Present, Holder{PID: parent, State: Alive, Why: "the kernel names it"}, "held by PID"},
		"a forked child's": {"1\n", []int{dead}, sys.Absent, Holder{PID: dead, State: Unproven, Why: fmt.Sprintf("PID %d took it last and has ended", dead)}, "by whom is not known"},
		"ourselves":        {"1\n", []int{parent, me}, sys.Present, Holder{PID: me, State: Ourselves, Why: "the kernel names it"}, "held by this process"},
		"metadata":         {"4242-1\n", nil, sys.Present, Holder{PID: 4242, State: Alive, Why: hint}, "is held, perhaps by PID 4242, which took it last at 2"},
		"another user":     {"4242\n", nil, sys.Forbidden, Holder{PID: 4242, State: OtherUser, Why: hint}, "of another user"},
		"stale metadata":   {"4242\n", nil, sys.Absent, Holder{PID: 4242, State: Unproven, Why: "PID 4242 took it last and has ended"}, "by whom is not known"},
		"unreaped":         {"4242\n", nil, sys.Exited, Holder{PID: 4242, State: Unproven, Why: "PID 4242 took it last and has ended"}, "by whom is not known"},
		"unknown":          {"4242\n", nil, sys.Unknown, Holder{PID: 4242, State: Unproven, Why: "the system does not say whether PID 4242 runs"}, "by whom is not known"},
		"no metadata":      {"hello\n", nil, sys.Present, Holder{State: Unproven, Why: "its metadata names nobody"}, "by whom is not known"},
	} {
		t.Run(name, func(t *testing.T) {
			path := kernelFile(t)
			table := newKernelTable()
			_, err := kernelWith(t, context.Background(), osSystem{}, table, path)
			require.NoError(t, err)
			write(t, path, []byte(c.metadata))
			fake := &kernelFake{kernelSystem: osSystem{}, owners: &c.kernel, presence: &c.probe}
			if name != "ourselves" {
				table = newKernelTable()
			}
			_, err = kernelWith(t, context.Background(), fake, table, path, Wait(0))
			var held *HeldError
			require.ErrorAs(t, err, &held)
			assert.Equal(t, path, held.Path)
			assert.Contains(t, held.Error(), c.says)
			assert.False(t, held.Stuck(), "the kernel lets go by itself")
			if c.kernel == nil && c.want.PID != 0 {
				assert.WithinDuration(t, time.Now(), held.Holder.Since, time.Minute)
			}
			c.want.Hint = c.kernel == nil && c.want.PID != 0
			known := !c.want.Hint && c.want.State == Alive
			assert.Equal(t, known, strings.HasSuffix(held.Error(), "or end that process"), held.Error())
			held.Holder.Since, held.Holder.Command, held.Holder.Started = time.Time{}, "", time.Time{}
			assert.Equal(t, c.want, held.Holder)
		})
	}
	t.Run("our number in metadata that is not ours", func(t *testing.T) {
		path := kernelFile(t)
		mustKernel(t, path)
		fake := &kernelFake{kernelSystem: osSystem{}, owners: new([]int)}
		_, err := kernelFor(t, fake, path, Wait(0))
		var held *HeldError
		require.ErrorAs(t, err, &held)
		assert.Equal(t, Unproven, held.Holder.State)
	})
	t.Run("our own reader, behind whom a writer left its number", func(t *testing.T) {
		path := kernelFile(t)
		write(t, path, []byte("4242-1\n"))
		table := newKernelTable()
		_, err := kernelWith(t, context.Background(), osSystem{}, table, path, Shared())
		require.NoError(t, err)
		fake := &kernelFake{kernelSystem: osSystem{}, owners: new([]int), presence: new(sys.Present)}
		_, err = kernelWith(t, context.Background(), fake, table, path, Wait(0))
		var held *HeldError
		require.ErrorAs(t, err, &held)
		assert.Equal(t, Ourselves, held.Holder.State)
		assert.Equal(t, os.Getpid(), held.Holder.PID)
		_, err = kernelFor(t, fake, path, Wait(0))
		require.ErrorAs(t, err, &held)
		assert.True(t, held.Holder.Hint)
		assert.Contains(t, err.Error(), "perhaps by PID 4242")
		assert.NotContains(t, err.Error(), "end that process", "the writer has long released it")
	})
}

// A wait for a hint is a hint too.
func TestKernelCancelledWaitForAHint(t *testing.T) {
	path := kernelFile(t)
	mustKernel(t, path)
	write(t, path, []byte("4242-1\n"))
	presence := sys.Present
	fake := &kernelFake{kernelSystem: osSystem{}, owners: new([]int), presence: &presence}
	ctx, cancel := context.WithCancel(context.Background())
	_, err := kernelWith(t, ctx, fake, newKernelTable(), path, Wait(Forever), OnWait(func(Holder) { cancel() }))
	assert.ErrorContains(t, err, "stopped waiting for its holder, perhaps PID 4242")
}

func TestKernelIsOneLockThroughAllSpellings(t *testing.T) {
	path := kernelFile(t)
	dir := filepath.Dir(path)
	mustKernel(t, path)
	t.Chdir(dir)
	_, err := Kernel("run.lock", Wait(0)).Acquire(context.Background())
	assert.ErrorIs(t, err, ErrHeld)
	_, err = KernelAt(".", "sub/../run.lock").TryAcquire(context.Background())
	assert.ErrorIs(t, err, ErrHeld)
	_, err = KernelAt(dir, "./run.lock", Wait(Forever)).TryAcquire(context.Background())
	assert.ErrorIs(t, err, ErrHeld)
}

// A relative path is what it was when the lock was acquired.
func TestKernelSurvivesChdir(t *testing.T) {
	path := kernelFile(t)
	t.Chdir(filepath.Dir(path))
	l := mustKernel(t, "run.lock")
	t.Chdir(t.TempDir())
	assert.NoError(t, l.Check())
	assert.NoError(t, l.Release())
}

func TestKernelInstance(t *testing.T) {
	path := kernelFile(t)
	write(t, path, []byte(fmt.Sprintf("%d-1\n", deadPID(t))))
	first, err := Instance(path)
	require.NoError(t, err)
	_, err = Instance(path)
	var held *HeldError
	require.ErrorAs(t, err, &held)
	assert.Equal(t, os.Getpid(), held.Holder.PID)
	assert.Zero(t, held.Waited, "it does not wait")
	go first.Release()
	second, err := Instance(path, Wait(time.Minute), Shared())
	require.NoError(t, err, "unless it is told to")
	_, err = Instance(path, Shared())
	assert.ErrorIs(t, err, ErrHeld, "two readers would be two instances")
	require.NoError(t, second.Release())
}

func TestKernelLogs(t *testing.T) {
	path := kernelFile(t)
	var text strings.Builder
	log := Logger(slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug})))
	l := mustKernel(t, path, log)
	refusedKernel(t, path, log)
	ctx, cancel := context.WithCancel(context.Background())
	_, err := kernelWith(t, ctx, osSystem{}, newKernelTable(), path, log, OnWait(func(Holder) { cancel() }))
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, l.Release())
	want := []string{
		`DEBUG msg="creating lock file"`, `DEBUG msg="created lock file"`, `DEBUG msg="acquired lock"`,
		`DEBUG msg="waiting for lock"`, `DEBUG msg="releasing lock"`,
	}
	if runtime.GOOS != "windows" { // a file that is open there is not removed
		require.NoError(t, os.Remove(path))
		lost := mustKernel(t, path, log)
		require.NoError(t, os.Remove(path))
		require.ErrorIs(t, lost.Release(), ErrLost)
		want = append(want, want[:3]...)
		want = append(want, `DEBUG msg="releasing lock"`, `WARN msg="lock was taken away while held"`)
	}
	got := strings.Split(strings.TrimSpace(text.String()), "\n")
	for n, line := range got {
		_, line, _ = strings.Cut(line, "level=")
		got[n], _, _ = strings.Cut(line, " path=")
	}
	assert.Equal(t, want, got)
}
