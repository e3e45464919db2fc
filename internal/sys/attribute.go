//go:build linux || darwin || freebsd

package sys

import "golang.org/x/sys/unix"

// SetAttribute gives the file an extended attribute in the user namespace.
func (f *File) SetAttribute(name string, value []byte) error {
	return repeat(func() error { return unix.Fsetxattr(f.fd, name, value, 0) })
}

// Attribute reads an extended attribute into buf and returns its length: kind [NoAttribute] if there is none. One longer
// than buf is of kind [OutOfRange], or cut to buf.
func (f *File) Attribute(name string, buf []byte) (int, error) {
	n, err := repeated(func() (int, error) { return unix.Fgetxattr(f.fd, name, buf) })
	if err == noAttribute {
		err = NoAttribute
	}
	return n, err
}
