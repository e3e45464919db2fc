//go:build !linux

package main

import "os"

// isParent reports whether pid is our parent. Further ones are not looked for on this system.
func isParent(pid int) bool { return pid == os.Getppid() }
