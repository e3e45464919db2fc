//go:build unix

package sys

import (
	"io/fs"
	"time"

	"golang.org/x/sys/unix"
)

// Dir is an open directory. Every name given to its methods is a single component, taken relative to it: the process
// may change its working directory and the directory may be renamed. Names are never followed.
type Dir struct {
	fd int
}

// OpenDir opens the directory at path, following links in path itself.
func OpenDir(path string) (*Dir, error) {
	fd, err := open(unix.AT_FDCWD, path, dirFlags|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return &Dir{fd}, nil
}

// Close closes the directory.
func (d *Dir) Close() error { return unix.Close(d.fd) }

// ID is the identity of the directory, the same through every spelling of its path.
func (d *Dir) ID() (FileID, error) {
	var st unix.Stat_t
	if err := repeat(func() error { return unix.Fstat(d.fd, &st) }); err != nil {
		return FileID{}, err
	}
	return statID(&st), nil
}

// Lstat looks at name without following it.
func (d *Dir) Lstat(name string) (Info, error) {
	var st unix.Stat_t
	if err := repeat(func() error { return unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) }); err != nil {
		return Info{}, err
	}
	return statInfo(&st), nil
}

// Open opens name for reading: never through a link, never blocking on a FIFO or device. Whoever needs a regular file
// looks with Stat.
func (d *Dir) Open(name string) (*File, error) {
	return d.file(name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
}

// CreateNew makes name and opens it for reading and writing; a name that exists, even as a dangling link, is an error of
// kind [Exists]. The umask applies to perm.
func (d *Dir) CreateNew(name string, perm fs.FileMode) (*File, error) {
	return d.file(name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW, perm)
}

// Replace renames from to to in one step; what was at to is gone. The file stands for from where the system renames by
// handle.
func (d *Dir) Replace(_ *File, from, to string) error {
	return repeat(func() error { return unix.Renameat(d.fd, from, d.fd, to) })
}

// Remove removes name, never a directory. The file, if not nil, is what name was seen to mean: a system that can remove by
// handle removes exactly that.
func (d *Dir) Remove(name string, _ *File) error {
	return repeat(func() error { return unix.Unlinkat(d.fd, name, 0) })
}

// Sync makes the directory's entries durable.
func (d *Dir) Sync() error {
	fd, err := open(d.fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return repeat(func() error { return syncFD(fd) })
}

func (d *Dir) file(name string, flags int, perm fs.FileMode) (*File, error) {
	fd, err := open(d.fd, name, flags|unix.O_CLOEXEC, modeBits(perm))
	if err != nil {
		return nil, err
	}
	return &File{fd}, nil
}

func open(dirfd int, name string, flags int, perm uint32) (int, error) {
	return repeated(func() (int, error) { return unix.Openat(dirfd, name, flags, perm) })
}

func statID(st *unix.Stat_t) FileID { return FileID{uint64(st.Dev), uint64(st.Ino)} }

func statInfo(st *unix.Stat_t) Info {
	return Info{
		ID:      statID(st),
		Mode:    fileMode(uint32(st.Mode)),
		Size:    st.Size,
		ModTime: time.Unix(st.Mtim.Unix()),
		Links:   uint64(st.Nlink),
		UID:     st.Uid,
		GID:     st.Gid,
	}
}

func fileMode(bits uint32) fs.FileMode {
	mode := fs.FileMode(bits & 0o777)
	switch bits & unix.S_IFMT {
	case unix.S_IFDIR:
		mode |= fs.ModeDir
	case unix.S_IFLNK:
		mode |= fs.ModeSymlink
	case unix.S_IFIFO:
		mode |= fs.ModeNamedPipe
	case unix.S_IFSOCK:
		mode |= fs.ModeSocket
	case unix.S_IFBLK:
		mode |= fs.ModeDevice
	case unix.S_IFCHR:
		mode |= fs.ModeDevice | fs.ModeCharDevice
	}
	if bits&unix.S_ISUID != 0 {
		mode |= fs.ModeSetuid
	}
	if bits&unix.S_ISGID != 0 {
		mode |= fs.ModeSetgid
	}
	if bits&unix.S_ISVTX != 0 {
		mode |= fs.ModeSticky
	}
	return mode
}

func modeBits(mode fs.FileMode) uint32 {
	bits := uint32(mode.Perm())
	if mode&fs.ModeSetuid != 0 {
		bits |= unix.S_ISUID
	}
	if mode&fs.ModeSetgid != 0 {
		bits |= unix.S_ISGID
	}
	if mode&fs.ModeSticky != 0 {
		bits |= unix.S_ISVTX
	}
	return bits
}
