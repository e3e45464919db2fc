//go:build unix

package atomicwrite

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// BenchmarkReplace measures a replacement of 4 KiB beside the system calls that nobody can do without, in turns, in one
// directory. The figures are medians, since a busy machine makes means meaningless; x-floor is the ratio of the two.
func BenchmarkReplace(b *testing.B) {
	for _, place := range benchmarkDirs(b) {
		for _, sync := range []struct {
			name   string
			policy SyncPolicy
		}{{"SyncNone", SyncNone}, {"SyncFile", SyncFile}, {"SyncAll", SyncAll}} {
			b.Run(place.name+"/"+sync.name, func(b *testing.B) { compareWithFloor(b, place.path, sync.policy) })
		}
	}
}

type benchmarkDir struct{ name, path string }

// benchmarkDirs are the test's own directory and one on tmpfs, where there is one.
func benchmarkDirs(b *testing.B) []benchmarkDir {
	dirs := []benchmarkDir{{"tempdir", b.TempDir()}}
	if shm, err := os.MkdirTemp("/dev/shm", "atomicwrite"); err == nil {
		b.Cleanup(func() { os.RemoveAll(shm) })
		dirs = append(dirs, benchmarkDir{"tmpfs", shm})
	}
	return dirs
}

func compareWithFloor(b *testing.B, dir string, policy SyncPolicy) {
	data := make([]byte, 4<<10)
	bare := floorPaths{filepath.Join(dir, "floor"), filepath.Join(dir, "floor.0123456789ab.tmp"), dir}
	ours := filepath.Join(dir, "ours")
	opt := Sync(policy)
	var floor, full []time.Duration
	b.ReportAllocs()
	for b.Loop() {
		start := time.Now()
		require.NoError(b, bare.replace(data, policy))
		middle := time.Now()
		require.NoError(b, WriteFile(ours, data, 0o644, opt))
		floor = append(floor, middle.Sub(start))
		full = append(full, time.Since(middle))
	}
	b.ReportMetric(median(full)/median(floor), "x-floor")
	b.ReportMetric(median(floor), "floor-ns/op")
	b.ReportMetric(median(full), "ours-ns/op")
}

func median(of []time.Duration) float64 {
	slices.Sort(of)
	return float64(of[len(of)/2].Nanoseconds())
}

type floorPaths struct{ path, temp, dir string }

func (p floorPaths) replace(data []byte, policy SyncPolicy) error {
	fd, err := unix.Open(p.temp, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return err
	}
	if _, err := unix.Write(fd, data); err != nil {
		return err
	}
	if policy != SyncNone {
		if err := unix.Fsync(fd); err != nil {
			return err
		}
	}
	if err := unix.Close(fd); err != nil {
		return err
	}
	if err := unix.Rename(p.temp, p.path); err != nil {
		return err
	}
	if policy != SyncAll {
		return nil
	}
	dir, err := unix.Open(p.dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	return unix.Fsync(dir)
}
