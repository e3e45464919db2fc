package filelock

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/sys"
)

// keyOf is the lock in the tables of processes.
func keyOf(t testing.TB, path string) key {
	t.Helper()
	info, err := sys.Lstat(path)
	require.NoError(t, err)
	return key{dir: info.ID}
}

// No reader keeps another out, not even while it takes the lock.
func TestKernelReadersAtOnce(t *testing.T) {
	path := kernelFile(t)
	table := newKernelTable()
	_, err := kernelWith(t, context.Background(), osSystem{}, table, path, Shared())
	require.NoError(t, err)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 250 {
				l, err := acquireKernel(context.Background(), osSystem{}, table, kernelPath{path: path}, newOptions([]Option{Shared(), Wait(0)}))
				if assert.NoError(t, err) {
					assert.NoError(t, l.Release())
				}
			}
		})
	}
	all.Wait()
}

// Who is before it in the queue keeps a contender out, unless both are readers.
func TestKernelReaderInTheQueue(t *testing.T) {
	for _, first := range []bool{false, true} {
		for _, second := range []bool{false, true} {
			path := kernelFile(t)
			table := newKernelTable()
			require.NoError(t, mustKernel(t, path).Release())
			join := table.queues.joinReaders
			if !first {
				join = func(k key) (mine *place, head, free bool) {
					mine, head = table.queues.join(k)
					return mine, head, head
				}
			}
			taking, head, _ := join(keyOf(t, path))
			require.True(t, head)
			opts := []Option{Wait(0)}
			if second {
				opts = append(opts, Shared())
			}
			l, err := kernelWith(t, context.Background(), osSystem{}, table, path, opts...)
			if first && second {
				require.NoError(t, err)
				assert.Len(t, table.queues.queues[taking.key], 1, "a reader has a place only until it has the lock")
				require.NoError(t, l.Release())
			} else {
				assert.ErrorIs(t, err, ErrHeld, "%v before %v", first, second)
			}
			table.queues.leave(taking)
			assert.Empty(t, table.queues.queues)
		}
	}
}

// A writer that waits is not overtaken by the readers of its process, and they come next.
func TestKernelWriterIsNotOvertaken(t *testing.T) {
	path := kernelFile(t)
	table := newKernelTable()
	contend := func(opts ...Option) (*KernelLease, error) {
		return kernelWith(t, context.Background(), osSystem{}, table, path, opts...)
	}
	reader, err := contend(Shared())
	require.NoError(t, err)
	var all sync.WaitGroup
	var order []string
	wait := func(who string, opts ...Option) {
		waiting := make(chan struct{})
		all.Go(func() {
			l, err := contend(append(opts, Wait(Forever), OnWait(onceClose(waiting)))...)
			if assert.NoError(t, err) {
				order = append(order, who)
				assert.NoError(t, l.Release())
			}
		})
		<-waiting
	}
	wait("writer")
	_, err = contend(Shared(), Wait(0))
	assert.ErrorIs(t, err, ErrHeld)
	wait("reader", Shared())
	wait("second writer")
	require.NoError(t, reader.Release())
	all.Wait()
	assert.Equal(t, []string{"writer", "reader", "second writer"}, order)
}

// A reader that does not get in by one try waits for its turn, and only the first one watches.
func TestKernelReadersWaitInTurn(t *testing.T) {
	path := kernelFile(t)
	holder := mustKernel(t, path)
	table := newKernelTable()
	var mu sync.Mutex
	watches := 0
	fake := &kernelFake{kernelSystem: osSystem{}, on: func(op string, _ lockFile) error {
		if op == "watch" {
			mu.Lock()
			defer mu.Unlock()
			watches++
		}
		return nil
	}}
	var all sync.WaitGroup
	for range 16 {
		waiting := make(chan struct{})
		all.Go(func() {
			_, err := kernelWith(t, context.Background(), fake, table, path, Shared(), Wait(Forever), OnWait(onceClose(waiting)))
			assert.NoError(t, err)
		})
		<-waiting
	}
	assert.Equal(t, 1, watches)
	require.NoError(t, holder.Release())
	all.Wait()
	assert.Empty(t, table.queues.queues)
}

// Who waits behind another goroutine is told that it is this process, unless somebody else is known to have the lock.
func TestKernelQueueSaysWhoHoldsIt(t *testing.T) {
	me, other := os.Getpid(), 4242
	for name, c := range map[string]struct {
		metadata string
		kernel   []int
		want     Holder
		says     string
	}{
		"between two of ours": {fmt.Sprintf("%d-1\n", me), nil, Holder{PID: me, State: Ourselves}, "is held by this process"},
		"the first of all":    {"", nil, Holder{PID: me, State: Ourselves}, "is held by this process"},
		"the kernel":          {fmt.Sprintf("%d-1\n", me), []int{other}, Holder{PID: other, State: Alive}, "is held by PID 4242"},
		"metadata":            {"4242-1\n", nil, Holder{PID: other, State: Alive, Hint: true}, "perhaps by PID 4242"},
	} {
		t.Run(name, func(t *testing.T) {
			path := kernelFile(t)
			write(t, path, []byte(c.metadata))
			table := newKernelTable()
			table.queues.join(keyOf(t, path))
			presence := sys.Present
			fake := &kernelFake{kernelSystem: osSystem{}, owners: &c.kernel, presence: &presence}
			for _, wait := range []time.Duration{0, time.Millisecond} {
				_, err := kernelWith(t, context.Background(), fake, table, path, Wait(wait))
				var held *HeldError
				require.ErrorAs(t, err, &held)
				assert.Contains(t, err.Error(), c.says)
				assert.False(t, held.Stuck())
				assert.Equal(t, c.want, Holder{PID: held.Holder.PID, State: held.Holder.State, Hint: held.Holder.Hint})
			}
		})
	}
}

// Every pause of a wait is told of before it begins, and ends with the wait: also the one that leaves the lock to others, and
// the one in which a file that is being replaced may come to rest.
func TestKernelEveryPauseIsToldOfAndCut(t *testing.T) {
	const wait = 30 * time.Millisecond
	for _, what := range []string{"leaves it to others", "is being replaced"} {
		if what == "is being replaced" && runtime.GOOS == "windows" {
			continue // the system keeps the file as long as it is open
		}
		path := kernelFile(t)
		table := newKernelTable()
		fake := replacing(t, path, -1)
		var first *place
		if what == "leaves it to others" {
			fake = &kernelFake{kernelSystem: osSystem{}}
			k := mustKernel(t, path).key
			first, _ = table.queues.join(k)
			table.queues.streaks[k] = time.Now().Add(-2 * longestStreak)
		}
		began, paused, pauses, told := time.Now(), time.Duration(0), 0, 0
		fake.clock = func() time.Time { return began.Add(paused) }
		fake.pausing = func(d time.Duration, _ <-chan struct{}) {
			assert.Equal(t, pauses+1, told, what)
			if pauses++; pauses == 1 && first != nil {
				table.queues.leave(first)
				d = time.Millisecond
			}
			paused += d
		}
		_, err := kernelWith(t, context.Background(), fake, table, path, Wait(wait), OnWait(func(Holder) { told++ }))
		require.Error(t, err)
		assert.Equal(t, wait, paused, what)
		assert.Greater(t, pauses, 1)
	}
}
