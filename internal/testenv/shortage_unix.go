//go:build unix

package testenv

import (
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Shortage leaves this process so many descriptors that it can still open, until enough is called, which may be more than
// once.
func Shortage(t testing.TB, left int) (enough func()) {
	t.Helper()
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	short := before
	short.Cur = 256
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &short); err != nil {
		t.Fatal(err)
	}
	var taken []int
	for {
		fd, err := unix.Dup(0)
		if err == syscall.EMFILE {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		unix.CloseOnExec(fd)
		taken = append(taken, fd)
	}
	free := func(n int) {
		for range min(n, len(taken)) {
			unix.Close(taken[0])
			taken = taken[1:]
		}
	}
	free(left)
	return func() {
		free(len(taken))
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
			t.Fatal(err)
		}
	}
}
