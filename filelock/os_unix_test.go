//go:build unix

package filelock

import (
	"syscall"
	"testing"
)

func makeFIFO(_ *testing.T, path string) error { return syscall.Mkfifo(path, 0o600) }

// keepNumber has nothing to do here: numbers are not used again soon.
func keepNumber(testing.TB, int) {}
