//go:build unix

package filelock

import (
	"testing"

	"golang.org/x/sys/unix"
)

func makeFIFO(_ *testing.T, path string) error { return unix.Mkfifo(path, 0o600) }

// keepNumber has nothing to do here: numbers are not used again soon.
func keepNumber(testing.TB, int) {}
