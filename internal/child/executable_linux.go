package child

import (
	"bytes"
	"os"
	"slices"
	"strings"
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

// Environ is the environment of this process, byte for byte: package os drops what stands there twice. If this program
// has changed it, it is what package os says.
func Environ() []string {
	all := environment()
	if now := syscall.Environ(); !slices.Equal(withoutRepeated(all), now) {
		return now
	}
	return all
}

// withoutRepeated is what package os makes of an environment: of variables of one name the first, and nothing empty.
func withoutRepeated(env []string) (first []string) {
	seen := map[string]bool{}
	for _, v := range env {
		name, _, found := strings.Cut(v, "=")
		if v == "" || found && seen[name] {
			continue
		}
		seen[name] = seen[name] || found
		first = append(first, v)
	}
	return first
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
