//go:build !linux

package sys

// EndedChild is [Unsupported] here.
func EndedChild() (pid int, err error) { return 0, Unsupported }

// HasChildren knows nothing here.
func HasChildren() bool { return true }

// Reap does nothing here.
func Reap(int) {}
