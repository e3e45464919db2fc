//go:build unix && !linux

package child

import (
	"os"
	"syscall"
)

func executable() (string, error) { return os.Executable() }

func environment() []string { return syscall.Environ() }
