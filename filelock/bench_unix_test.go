//go:build unix

package filelock

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// An uncontended acquire and release beside the system calls that any lock file costs: open O_EXCL, write, close, unlink,
// in the same directory and in turns. x-floor is the ratio of the medians.
func BenchmarkFreeLock(b *testing.B) {
	for _, place := range benchPlaces(b) {
		b.Run(place.name, func(b *testing.B) {
			path := filepath.Join(place.dir, "settings.json")
			acquire := func() error {
				l, err := Acquire(context.Background(), path)
				if err != nil {
					return err
				}
				return l.Release()
			}
			var t pair
			for b.Loop() {
				t.floor(b, func() error { return floor(path + ".floor") })
				t.ours(b, acquire)
			}
			t.report(b, "x-floor")
			b.ReportMetric(testing.AllocsPerRun(100, func() { acquire() }), "allocs/lock")
		})
	}
}

// A takeover beside an uncontended acquire.
func BenchmarkTakeover(b *testing.B) {
	dead := record(deadPID(b))
	for _, place := range benchPlaces(b) {
		b.Run(place.name, func(b *testing.B) {
			path := filepath.Join(place.dir, "settings.json")
			var t pair
			acquire := func() error {
				l, err := TryAcquire(context.Background(), path)
				if err != nil {
					return err
				}
				return l.Release()
			}
			for b.Loop() {
				t.floor(b, acquire)
				write(b, path+lockSuffix, dead)
				t.ours(b, acquire)
			}
			t.report(b, "x-uncontended")
		})
	}
}

func floor(path string) error {
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	if _, err := unix.Write(fd, []byte("4242\n")); err != nil {
		return err
	}
	if err := unix.Close(fd); err != nil {
		return err
	}
	return unix.Unlink(path)
}

// pair are the times of two things done in turns.
type pair struct{ a, b []time.Duration }

func (p *pair) floor(b *testing.B, f func() error) { p.a = append(p.a, timed(b, f)) }
func (p *pair) ours(b *testing.B, f func() error)  { p.b = append(p.b, timed(b, f)) }

func timed(b *testing.B, f func() error) time.Duration {
	began := time.Now()
	err := f()
	took := time.Since(began)
	if err != nil {
		b.Fatal(err)
	}
	return took
}

func (p *pair) report(b *testing.B, unit string) {
	floor, ours := float64(median(p.a)), float64(median(p.b))
	b.ReportMetric(floor, "ns/floor")
	b.ReportMetric(ours, "ns/ours")
	b.ReportMetric(ours/floor, unit)
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

type benchPlace struct{ name, dir string }

// benchPlaces are a directory on the disk and, where there is one, one in memory.
func benchPlaces(b *testing.B) []benchPlace {
	places := []benchPlace{{"disk", b.TempDir()}}
	if dir, err := os.MkdirTemp("/dev/shm", "holdfast"); err == nil {
		b.Cleanup(func() { os.RemoveAll(dir) })
		places = append(places, benchPlace{"tmpfs", dir})
	}
	return places
}
