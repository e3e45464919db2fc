package testenv

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// settle is how long goroutines and descriptors may take to go after the last test.
const settle = 10 * time.Second

// Run runs the tests and returns the exit code: not 0 if they left a goroutine or a descriptor of a file in a temporary
// directory behind in this process.
func Run(m *testing.M) int {
	before := runtime.NumGoroutine()
	code := m.Run()
	if fuzzing := flag.Lookup("test.fuzz").Value.String() != ""; fuzzing || code != 0 {
		return code // fuzzing has goroutines of its own
	}
	if left := leaks(before); len(left) > 0 {
		fmt.Println("FAIL: left open:", strings.Join(left, "\n"))
		return 1
	}
	return 0
}

func leaks(before int) (found []string) {
	for end := time.Now().Add(settle); ; runtime.Gosched() {
		found = openTemporary()
		if n := runtime.NumGoroutine() - before; n > 0 {
			stacks := make([]byte, 1<<20)
			found = append(found, fmt.Sprintf("%d goroutines\n%s", n, stacks[:runtime.Stack(stacks, true)]))
		}
		if len(found) == 0 || time.Now().After(end) {
			return found
		}
	}
}

func openTemporary() (open []string) {
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		return nil
	}
	for _, l := range links {
		if to, err := os.Readlink(l); err == nil && strings.HasPrefix(to, filepath.Join(os.TempDir(), "Test")) {
			open = append(open, "descriptor of "+to)
		}
	}
	return open
}
