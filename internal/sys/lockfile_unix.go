//go:build unix

package sys

import (
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// A lock file is opened for reading and writing, since a network file system refuses an exclusive kernel lock on a descriptor
// that only reads. Its last component is never followed and opening never blocks; whoever needs a regular file looks with
// Stat.
const lockFlags = unix.O_RDWR | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC

// OpenLock opens the lock file at path; links in its directory are followed.
func OpenLock(path string) (*File, error) { return lockFile(open(unix.AT_FDCWD, path, lockFlags, 0)) }

// CreateLock makes the lock file at path, which must not exist, even as a dangling link. The umask applies to perm.
func CreateLock(path string, perm fs.FileMode) (*File, error) {
	return lockFile(open(unix.AT_FDCWD, path, lockFlags|unix.O_CREAT|unix.O_EXCL, modeBits(perm)))
}

// OpenLockBeneath opens the lock file at path below the directory root. Links in root are followed, none below it; a path
// that leaves root is of kind [CrossDevice].
func OpenLockBeneath(root, path string) (*File, error) {
	return lockFile(openBelow(root, path, lockFlags, 0))
}

// CreateLockBeneath makes the lock file at path below the directory root, as OpenLockBeneath opens it.
func CreateLockBeneath(root, path string, perm fs.FileMode) (*File, error) {
	return lockFile(openBelow(root, path, lockFlags|unix.O_CREAT|unix.O_EXCL, modeBits(perm)))
}

func lockFile(fd int, err error) (*File, error) {
	if err != nil {
		return nil, err
	}
	return &File{fd}, nil
}

func openBelow(root, path string, flags int, perm uint32) (int, error) {
	if !filepath.IsLocal(path) {
		return -1, CrossDevice
	}
	dir, err := open(unix.AT_FDCWD, root, dirFlags|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(dir)
	return openBeneath(dir, filepath.Clean(path), flags, perm)
}

// Absolute makes path independent of the working directory and leaves it otherwise as it is: what ".." behind a link means
// is the file system's to say.
func Absolute(path string) (string, error) {
	if filepath.IsAbs(path) {
		return path, nil
	}
	wd, err := os.Getwd()
	if err != nil {
		return "", err
	}
	return wd + "/" + path, nil
}

// Lstat looks at path without following its last component.
func Lstat(path string) (Info, error) {
	var st unix.Stat_t
	if err := repeat(func() error { return unix.Lstat(path, &st) }); err != nil {
		return Info{}, err
	}
	return statInfo(&st), nil
}
