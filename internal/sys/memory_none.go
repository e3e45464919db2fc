//go:build !linux

package sys

// InMemory is not known here, and false.
func (f *File) InMemory() bool { return false }
