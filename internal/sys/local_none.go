//go:build !linux && !darwin && !freebsd

package sys

// Local is always false here: without attributes nothing is concluded from it.
func (f *File) Local() bool { return false }
