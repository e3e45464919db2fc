package filelock

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// leaks says what the tests have left open in this process: goroutines, and descriptors of files in temporary directories.
func leaks(before int) []string {
	var found []string
	for end := time.Now().Add(eventually); ; runtime.Gosched() {
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
