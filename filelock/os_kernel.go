package filelock

import (
	"context"
	"io/fs"
	"time"

	"github.com/holdfast-go/holdfast/internal/sys"
)

// kernelSystem is the machine as kernel locks see it, one call a step, without retries or decisions.
type kernelSystem interface {
	self() sys.Self
	now() time.Time
	pause(ctx context.Context, d time.Duration, wake <-chan struct{}) error
	after(d time.Duration, f func()) timer
	probe(pid int) sys.Process
	describe(pid int) sys.Description
	namesLinger() bool
	// absolute makes a path independent of the working directory.
	absolute(path string) (string, error)
	// openLock opens an existing file for reading and writing, never through a link in the last place and never blocking.
	// Below a root no component may be a link; links in root, or without one in the directory of path, are followed.
	openLock(root, path string) (lockFile, error)
	// createLock makes a file that must not exist, and opens it in the same way.
	createLock(root, path string, perm fs.FileMode) (lockFile, error)
	lstat(path string) (sys.Info, error)
	// lockedBy are the processes that the kernel names as having locked the inode; none where it does not tell.
	lockedBy(id sys.FileID) []int
}

// lockFile is a kernel lock's open file.
type lockFile interface {
	Stat() (sys.Info, error)
	Chmod(perm fs.FileMode) error
	ReadAt(p []byte, offset int64) (int, error)
	WriteAt(p []byte, offset int64) (int, error)
	Truncate(size int64) error
	TryLock(exclusive bool) error
	Unlock() error
	// WatchClose has wake called each time when somebody has closed the inode or taken its name away.
	WatchClose(wake func()) (stop func(), err error)
	Close() error
}

func (osSystem) absolute(path string) (string, error) { return sys.Absolute(path) }
func (osSystem) lstat(path string) (sys.Info, error)  { return sys.Lstat(path) }
func (osSystem) lockedBy(id sys.FileID) []int         { return sys.LockedBy(id) }

func (osSystem) openLock(root, path string) (lockFile, error) {
	if root == "" {
		return openedLock(sys.OpenLock(path))
	}
	return openedLock(sys.OpenLockBeneath(root, path))
}

func (osSystem) createLock(root, path string, perm fs.FileMode) (lockFile, error) {
	if root == "" {
		return openedLock(sys.CreateLock(path, perm))
	}
	return openedLock(sys.CreateLockBeneath(root, path, perm))
}

func openedLock(f *sys.File, err error) (lockFile, error) {
	if err != nil {
		return nil, err
	}
	return f, nil
}
