//go:build !linux

package sys

// WatchClose is [Unsupported] here.
func (*File) WatchClose(func()) (stop func(), err error) { return nil, Unsupported }
