//go:build unix

package peers

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/rogpeppe/go-internal/lockedfile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/holdfast-go/holdfast/filelock"
)

// acquirers take an exclusive lock on the file at path and wait as long as it takes; kernel and record are ours.
var acquirers = map[string]func(path string) (release func() error, err error){
	"kernel": func(path string) (func() error, error) {
		l, err := filelock.Kernel(path, filelock.Wait(filelock.Forever)).Acquire(context.Background())
		if err != nil {
			return nil, err
		}
		return l.Release, nil
	},
	"record": func(path string) (func() error, error) {
		l, err := filelock.Acquire(context.Background(), path, filelock.Wait(filelock.Forever))
		if err != nil {
			return nil, err
		}
		return l.Release, nil
	},
	"flock": func(path string) (func() error, error) {
		fd, err := unix.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC, 0o600)
		if err != nil {
			return nil, err
		}
		if err := unix.Flock(fd, unix.LOCK_EX); err != nil {
			return nil, err
		}
		return func() error { return unix.Close(fd) }, nil
	},
	"gofrs": func(path string) (func() error, error) {
		l := flock.New(path)
		_, err := l.TryLockContext(context.Background(), 100*time.Millisecond)
		return l.Close, err
	},
	"lockedfile": func(path string) (func() error, error) {
		unlock, err := lockedfile.MutexAt(path).Lock()
		return func() error { unlock(); return nil }, err
	},
}

// An uncontended lock of each kind, in turns; x-flock is the median beside open, flock and close.
func BenchmarkFreeKernelLock(b *testing.B) {
	dir := b.TempDir()
	kinds := []string{"flock", "kernel", "gofrs", "lockedfile"}
	took := map[string][]time.Duration{}
	for b.Loop() {
		for _, kind := range kinds {
			began := time.Now()
			release, err := acquirers[kind](filepath.Join(dir, kind))
			if err == nil {
				err = release()
			}
			took[kind] = append(took[kind], time.Since(began))
			require.NoError(b, err)
		}
	}
	for _, kind := range kinds {
		slices.Sort(took[kind])
		b.ReportMetric(float64(took[kind][len(took[kind])/2].Nanoseconds()), "ns/"+kind)
	}
	floor := float64(took["flock"][len(took["flock"])/2])
	for _, kind := range kinds[1:] {
		b.ReportMetric(float64(took[kind][len(took[kind])/2])/floor, kind+"-x-flock")
	}
	b.ReportMetric(0, "ns/op")
}

// From the release in one process to the acquisition in another that has waited for a while; gofrs/flock looks each 100 ms
// here.
func BenchmarkHandOver(b *testing.B) {
	for _, kind := range []string{"flock", "kernel", "record", "gofrs"} {
		b.Run(kind, func(b *testing.B) {
			took := handOvers(b, kind, filepath.Join(b.TempDir(), "lock"), min(max(b.N, 30), 300))
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1e6, "median-ms")
			b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1e6, "p99-ms")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func handOvers(b *testing.B, kind, path string, rounds int) (took []time.Duration) {
	cmd := child("waiter", kind, path)
	in, err := cmd.StdinPipe()
	require.NoError(b, err)
	pipe, err := cmd.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())
	out := bufio.NewReader(pipe)
	for range rounds {
		release, err := acquirers[kind](path)
		require.NoError(b, err)
		fmt.Fprintln(in, "go")
		_, err = out.ReadString('\n') // it begins to wait
		require.NoError(b, err)
		time.Sleep(5*time.Millisecond + rand.N(100*time.Millisecond)) // the work: at whatever moment between two looks it ends
		released := monotonic()
		require.NoError(b, release())
		line, err := out.ReadString('\n')
		require.NoError(b, err)
		held, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
		require.NoError(b, err)
		took = append(took, time.Duration(held-released))
	}
	require.NoError(b, in.Close())
	require.NoError(b, cmd.Wait())
	return took
}

// childWaiter KIND FILE: for each line of input it says that it begins to wait, and then when it had the lock.
func childWaiter(args []string) error {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		fmt.Println("begun")
		release, err := acquirers[args[0]](args[1])
		if err != nil {
			return err
		}
		held := monotonic()
		if err := release(); err != nil {
			return err
		}
		fmt.Println(held)
	}
	return nil
}

func monotonic() int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic(err)
	}
	return now.Nano()
}

// Both libraries lock the same file in the same way: each keeps the other out, in every pairing of readers and writers.
func TestKernelExcludesGofrs(t *testing.T) {
	for _, c := range []struct{ ours, theirs, both bool }{ // shared?
		{false, false, false}, {false, true, false}, {true, false, false}, {true, true, true},
	} {
		t.Run(fmt.Sprintf("shared %v %v", c.ours, c.theirs), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "lock")
			opts := []filelock.Option{filelock.Wait(0)}
			if c.ours {
				opts = append(opts, filelock.Shared())
			}
			ours := filelock.Kernel(path, opts...)
			try := func() (*flock.Flock, bool) {
				f := flock.New(path)
				t.Cleanup(func() { f.Close() })
				take := f.TryLock
				if c.theirs {
					take = f.TryRLock
				}
				ok, err := take()
				require.NoError(t, err)
				return f, ok
			}

			l, err := ours.Acquire(context.Background())
			require.NoError(t, err)
			theirs, ok := try()
			assert.Equal(t, c.both, ok, "they while we hold")
			require.NoError(t, theirs.Close())
			require.NoError(t, l.Release())

			theirs, ok = try()
			require.True(t, ok)
			l, err = ours.Acquire(context.Background())
			if c.both {
				require.NoError(t, err)
				require.NoError(t, l.Release())
			} else {
				assert.ErrorIs(t, err, filelock.ErrHeld, "we while they hold")
			}
			require.NoError(t, theirs.Close())
			l, err = ours.Acquire(context.Background())
			require.NoError(t, err)
			require.NoError(t, l.Release())
		})
	}
}

// Processes of all kinds add to one number, none of them loses one.
func TestKernelCountsBesideThePeers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	require.NoError(t, os.WriteFile(path+".count", []byte("0"), 0o600))
	const each = 200
	var all []*exec.Cmd
	for _, kind := range []string{"kernel", "flock", "kernel"} {
		cmd := child("count", kind, path, strconv.Itoa(each))
		cmd.Stderr = os.Stderr
		require.NoError(t, cmd.Start())
		all = append(all, cmd)
	}
	cmd := child("count", "gofrs", path, "5") // it looks each 100 ms and seldom finds the lock free
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	for _, cmd := range append(all, cmd) {
		require.NoError(t, cmd.Wait())
	}
	count, err := os.ReadFile(path + ".count")
	require.NoError(t, err)
	assert.Equal(t, strconv.Itoa(3*each+5), string(count))
}

// childCount KIND FILE N: adds 1 to the number in FILE.count N times.
func childCount(args []string) error {
	n, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	for range n {
		release, err := acquirers[args[0]](args[1])
		if err != nil {
			return err
		}
		text, err := os.ReadFile(args[1] + ".count")
		if err != nil {
			return err
		}
		count, err := strconv.Atoi(string(text))
		if err != nil {
			return err
		}
		if err := os.WriteFile(args[1]+".count", []byte(strconv.Itoa(count+1)), 0o600); err != nil {
			return err
		}
		if err := release(); err != nil {
			return err
		}
	}
	return nil
}
