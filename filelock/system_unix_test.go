//go:build unix

package filelock

import (
	"syscall"
	"testing"
)

func makeFIFO(_ *testing.T, path string) error { return syscall.Mkfifo(path, 0o600) }
