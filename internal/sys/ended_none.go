//go:build !linux

package sys

// EndedChild is [Unsupported] here.
func EndedChild() (pid int, err error) { return 0, Unsupported }

// Reap does nothing here.
func Reap(int) {}
