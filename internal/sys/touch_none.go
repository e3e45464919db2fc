//go:build aix || illumos || solaris

package sys

// Touch is [Unsupported] here.
func (f *File) Touch() error { return Unsupported }
