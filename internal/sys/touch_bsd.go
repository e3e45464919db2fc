//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package sys

import (
	"time"

	"golang.org/x/sys/unix"
)

// Touch sets access and modification time of the open file to now.
func (f *File) Touch() error {
	now := unix.NsecToTimeval(time.Now().UnixNano())
	return repeat(func() error { return unix.Futimes(f.fd, []unix.Timeval{now, now}) })
}
