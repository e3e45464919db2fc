package sys

import (
	"io/fs"
	"strconv"

	"golang.org/x/sys/unix"
)

// O_PATH asks for search permission only, which is all that the calls relative to a directory need.
const dirFlags = unix.O_PATH

// CreateUnnamed makes a file without a name in the directory; it vanishes with its last descriptor unless LinkUnnamed
// names it.
func (d *Dir) CreateUnnamed(perm fs.FileMode) (*File, error) {
	return d.file(".", unix.O_RDWR|unix.O_TMPFILE, perm)
}

// LinkUnnamed gives the unnamed file its first name, which must not exist. It needs /proc.
func (d *Dir) LinkUnnamed(f *File, name string) error {
	var buf [32]byte
	path := strconv.AppendInt(append(buf[:0], "/proc/self/fd/"...), int64(f.fd), 10)
	return repeat(func() error {
		return unix.Linkat(unix.AT_FDCWD, string(path), d.fd, name, unix.AT_SYMLINK_FOLLOW)
	})
}

// MoveNew renames from to to, which must not exist. The file stands for from where the system renames by handle.
func (d *Dir) MoveNew(_ *File, from, to string) error {
	return repeat(func() error { return unix.Renameat2(d.fd, from, d.fd, to, unix.RENAME_NOREPLACE) })
}
