//go:build linux || darwin || freebsd

package sys

import "golang.org/x/sys/unix"

// SetAttribute gives the file an extended attribute in the user namespace.
func (f *File) SetAttribute(name string, value []byte) error {
	return unix.Fsetxattr(f.fd, name, value, 0)
}

// Attribute reads an extended attribute into buf and returns its length; one longer than buf is an error.
func (f *File) Attribute(name string, buf []byte) (int, error) {
	return unix.Fgetxattr(f.fd, name, buf)
}
