//go:build unix

package sys

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

// What files and directories that several users share need beyond the rest.

// EffectiveUser is the user whose rights this process has now.
func EffectiveUser() uint32 { return uint32(unix.Geteuid()) }

// Stat looks at the open directory.
func (d *Dir) Stat() (Info, error) {
	var st unix.Stat_t
	if err := repeat(func() error { return unix.Fstat(d.fd, &st) }); err != nil {
		return Info{}, err
	}
	return statInfo(&st), nil
}

// OpenDir opens the directory name, never through a link.
func (d *Dir) OpenDir(name string) (*Dir, error) {
	fd, err := open(d.fd, name, dirFlags|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return &Dir{fd}, nil
}

// MakeDir makes the directory name with perm less the umask.
func (d *Dir) MakeDir(name string, perm fs.FileMode) error {
	return repeat(func() error { return unix.Mkdirat(d.fd, name, modeBits(perm)) })
}

// SetMode sets exactly these permission bits of name, whatever the umask. It follows a link, so nobody else may be able to
// put one there.
func (d *Dir) SetMode(name string, perm fs.FileMode) error {
	return repeat(func() error { return unix.Fchmodat(d.fd, name, modeBits(perm), 0) })
}

// OpenWrite opens name for reading and writing as Open does for reading. It does not make it, and never passes O_CREAT:
// systems refuse that for other users' files in a sticky directory.
func (d *Dir) OpenWrite(name string) (*File, error) {
	return d.file(name, unix.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
}

// SetGroup makes the file the group's.
func (f *File) SetGroup(gid uint32) error {
	return repeat(func() error { return unix.Fchown(f.fd, -1, int(gid)) })
}

// WriteAt writes some or all of p at offset and says how much.
func (f *File) WriteAt(p []byte, offset int64) (int, error) {
	n, err := repeated(func() (int, error) { return unix.Pwrite(f.fd, p, offset) })
	return max(n, 0), err
}

// Truncate cuts or extends the file to size.
func (f *File) Truncate(size int64) error {
	return repeat(func() error { return unix.Ftruncate(f.fd, size) })
}
