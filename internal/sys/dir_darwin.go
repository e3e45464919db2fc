package sys

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

const dirFlags = unix.O_RDONLY

// CreateUnnamed is [Unsupported] here.
func (d *Dir) CreateUnnamed(fs.FileMode) (*File, error) { return nil, Unsupported }

// LinkUnnamed is [Unsupported] here.
func (d *Dir) LinkUnnamed(*File, string) error { return Unsupported }

// MoveNew renames from to to, which must not exist.
func (d *Dir) MoveNew(_ *File, from, to string) error {
	return repeat(func() error { return unix.RenameatxNp(d.fd, from, d.fd, to, unix.RENAME_EXCL) })
}
