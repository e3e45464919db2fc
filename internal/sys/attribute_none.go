//go:build !linux && !darwin && !freebsd

package sys

// SetAttribute is [Unsupported] here.
func (f *File) SetAttribute(string, []byte) error { return Unsupported }

// Attribute is [Unsupported] here.
func (f *File) Attribute(string, []byte) (int, error) { return 0, Unsupported }
