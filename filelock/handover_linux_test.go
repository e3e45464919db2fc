package filelock

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// holding is what one process of a hand-over benchmark does with the lock of a file.
var holding = map[string]func(path string) (release func() error, err error){
	"record": func(path string) (func() error, error) { return holdRecord(path) },
	"eager":  func(path string) (func() error, error) { return holdRecord(path, Eager()) },
	"kernel": func(path string) (func() error, error) {
		l, err := Kernel(path, Wait(Forever)).Acquire(context.Background())
		if err != nil {
			return nil, err
		}
		return l.Release, nil
	},
	"flock": func(path string) (func() error, error) {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		return f.Close, unix.Flock(int(f.Fd()), unix.LOCK_EX)
	},
}

func holdRecord(path string, opts ...Option) (release func() error, err error) {
	l, err := Acquire(context.Background(), path, append(opts, Wait(Forever))...)
	if err != nil {
		return nil, err
	}
	return l.Release, nil
}

func init() {
	children["handover"], children["once"] = childHandOver, childOnce
}

// childOnce KIND FILE: takes the lock, says when, and holds it until its input ends.
func childOnce(args []string) error {
	fmt.Println("begun")
	release, err := holding[args[0]](args[1])
	if err != nil {
		return err
	}
	fmt.Println("held", monotonic())
	io.Copy(io.Discard, os.Stdin)
	return release()
}

func monotonic() int64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic(err)
	}
	return now.Nano()
}

// childHandOver KIND FILE N: takes the lock N times for three milliseconds. It prints when it had it, and when it let go.
func childHandOver(args []string) error {
	n, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	var times []int64
	for range n {
		release, err := holding[args[0]](args[1])
		if err != nil {
			return err
		}
		times = append(times, monotonic())
		time.Sleep(3 * time.Millisecond) // the work
		times = append(times, monotonic())
		if err := release(); err != nil {
			return err
		}
		time.Sleep(time.Millisecond) // much less than the work: at each release another process waits
	}
	for i := 0; i < len(times); i += 2 {
		fmt.Println("held", times[i], times[i+1])
	}
	return nil
}

// handOvers are the times from each release to the next acquisition, of processes that contend.
func handOvers(b *testing.B, kind, path string, processes, each int) []time.Duration {
	var all []*child
	for range processes {
		all = append(all, start(b, command("handover", kind, path, strconv.Itoa(each))))
	}
	type hold struct{ from, to int64 }
	var holds []hold
	for _, c := range all {
		lines := bufio.NewScanner(c.out)
		for lines.Scan() {
			var h hold
			_, err := fmt.Sscanf(lines.Text(), "held %d %d", &h.from, &h.to)
			require.NoError(b, err)
			holds = append(holds, h)
		}
		require.NoError(b, c.cmd.Wait())
	}
	slices.SortFunc(holds, func(x, y hold) int { return int(x.from - y.from) })
	var took []time.Duration
	for i := 1; i < len(holds); i++ {
		require.Greater(b, holds[i].from, holds[i-1].to, "two at once")
		took = append(took, time.Duration(holds[i].from-holds[i-1].to))
	}
	return took[len(took)/10 : len(took)-len(took)/10] // while all of them contend
}

func reportTimes(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1e6, "median-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1e6, "p99-ms")
	b.ReportMetric(0, "ns/op")
}

// From the release in one process to the acquisition in another that waits, beside a blocking flock. A crowd that is not
// eager leaves the lock free in between.
func BenchmarkHandOver(b *testing.B) {
	for _, processes := range []int{2, 8} {
		for _, kind := range []string{"flock", "kernel", "record", "eager"} {
			b.Run(fmt.Sprintf("%d processes/%s", processes, kind), func(b *testing.B) {
				path := filepath.Join(b.TempDir(), "f")
				reportTimes(b, handOvers(b, kind, path, processes, max(b.N, 100)))
			})
		}
	}
}

// From the death of the holder to the acquisition in another process that waits.
func BenchmarkHandOverFromTheDead(b *testing.B) {
	for _, kind := range []string{"flock", "kernel", "record"} {
		b.Run(kind, func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "f")
			var took []time.Duration
			for range max(b.N, 50) {
				holder := start(b, command("once", kind, path))
				require.Equal(b, "begun", holder.line())
				require.Contains(b, holder.line(), "held")
				next := start(b, command("once", kind, path))
				require.Equal(b, "begun", next.line())
				waitUntilWaiting(b, next.cmd.Process.Pid)
				killed := monotonic()
				holder.kill()
				var at int64
				_, err := fmt.Sscanf(next.line(), "held %d", &at)
				require.NoError(b, err)
				took = append(took, time.Duration(at-killed))
				next.end()
			}
			reportTimes(b, took)
		})
	}
}

// waitUntilWaiting returns when all threads of the process sleep.
func waitUntilWaiting(b *testing.B, pid int) {
	require.Eventually(b, func() bool {
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		if err != nil {
			return false
		}
		for _, t := range threads {
			stat, err := os.ReadFile(t)
			if err != nil || !strings.Contains(string(stat), ") S ") {
				return false
			}
		}
		return true
	}, 10*time.Second, time.Millisecond)
}
