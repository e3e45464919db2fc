//go:build unix && !linux

package child

import (
	"os"
	"syscall"
)

func executable() (string, error) { return os.Executable() }

// Environ is the environment of this process, as package os knows it.
func Environ() []string { return syscall.Environ() }

func environment() []string { return syscall.Environ() }
