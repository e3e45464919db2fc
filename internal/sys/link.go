//go:build unix && !aix && !solaris

package sys

import "golang.org/x/sys/unix"

// Link gives the file at from a second name, which must not exist.
func (d *Dir) Link(from, to string) error {
	return repeat(func() error { return unix.Linkat(d.fd, from, d.fd, to, 0) })
}
