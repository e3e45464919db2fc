//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package sys

import "syscall"

func tryFlock(fd int, exclusive bool) error {
	how := syscall.LOCK_SH
	if exclusive {
		how = syscall.LOCK_EX
	}
	return syscall.Flock(fd, how|syscall.LOCK_NB)
}

func unflock(fd int) error { return syscall.Flock(fd, syscall.LOCK_UN) }
