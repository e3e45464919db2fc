package child

import (
	"bytes"
	"os"
	"syscall"
)

// executable is this program, even if its file was replaced or removed meanwhile.
func executable() (string, error) {
	const self = "/proc/self/exe"
	if _, err := os.Stat(self); err == nil {
		return self, nil
	}
	return os.Executable()
}

// environment is what this process was started with, whatever its initialisation made of it.
func environment() []string {
	block, err := os.ReadFile("/proc/self/environ")
	if err != nil {
		return syscall.Environ()
	}
	if len(block) == 0 {
		return nil
	}
	var env []string
	for v := range bytes.SplitSeq(bytes.TrimSuffix(block, []byte{0}), []byte{0}) {
		env = append(env, string(v))
	}
	return env
}
