//go:build unix

package filelock

import (
	"context"
	"testing"
)

// BenchmarkNamed takes and releases a free lock in a directory like the machine's own.
func BenchmarkNamed(b *testing.B) {
	l := namedIn(newPlace(b), AllUsers, "benchmark")
	b.ReportAllocs()
	for b.Loop() {
		lease, err := l.Acquire(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		if err := lease.Release(); err != nil {
			b.Fatal(err)
		}
	}
}
