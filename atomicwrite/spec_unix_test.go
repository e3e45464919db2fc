//go:build unix

package atomicwrite

import "syscall"

func setUmask(mask int) { syscall.Umask(mask) }
