//go:build !linux && !darwin && !freebsd && !netbsd && !openbsd && !windows

package sys

// Watch is [Unsupported] here.
func (*Dir) Watch(string, func()) (stop func(), err error) { return nil, Unsupported }

// WatchExit is [Unsupported] here.
func WatchExit(int, func()) (stop func(), err error) { return nil, Unsupported }
