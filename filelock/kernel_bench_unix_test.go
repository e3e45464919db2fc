//go:build unix

package filelock

import (
	"context"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// An uncontended kernel lock beside what any must do, open, flock and close, in turns: x-floor is the ratio of the medians.
// x-same is the ratio to the system calls of our own, bare: two looks at the path, one at the file, metadata and an unlock more.
func BenchmarkFreeKernelLock(b *testing.B) {
	for _, place := range benchPlaces(b) {
		b.Run(place.name, func(b *testing.B) {
			path := filepath.Join(place.dir, "run.lock")
			l := Kernel(path)
			acquire := func() error {
				lease, err := l.Acquire(context.Background())
				if err != nil {
					return err
				}
				return lease.Release()
			}
			var floor, same pair
			for b.Loop() {
				floor.floor(b, func() error { return flocked(path+".floor", nil) })
				floor.ours(b, acquire)
				same.floor(b, func() error { return flocked(path+".same", []byte("4242-1234\n")) })
			}
			same.b = floor.b
			same.report(b, "x-same")
			floor.report(b, "x-floor")
			b.ReportMetric(testing.AllocsPerRun(100, func() { acquire() }), "allocs/lock")
		})
	}
}

// flocked opens, locks and closes path; with metadata it does between what a kernel lock does.
func flocked(path string, metadata []byte) error {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	var st unix.Stat_t
	if metadata != nil {
		if err := unix.Fstat(fd, &st); err != nil {
			return err
		}
	}
	if err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return err
	}
	if metadata != nil {
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		if _, err := unix.Pwrite(fd, metadata, 0); err != nil {
			return err
		}
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		if err := unix.Flock(fd, unix.LOCK_UN); err != nil {
			return err
		}
	}
	return unix.Close(fd)
}
