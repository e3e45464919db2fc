//go:build unix

package sys

import (
	"strings"

	"golang.org/x/sys/unix"
)

// walk opens a clean path below dir component by component; a link on the way is an error.
func walk(dir int, path string, flags int, perm uint32) (int, error) {
	at := dir
	for {
		name, rest, more := strings.Cut(path, "/")
		if !more {
			fd, err := open(at, name, flags, perm)
			closeBelow(dir, at)
			return fd, err
		}
		next, err := open(at, name, dirFlags|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		closeBelow(dir, at)
		if err != nil {
			return -1, err
		}
		at, path = next, rest
	}
}

func closeBelow(dir, at int) {
	if at != dir {
		unix.Close(at)
	}
}
