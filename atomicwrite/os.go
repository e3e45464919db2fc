package atomicwrite

import (
	"io/fs"
	"time"

	"github.com/holdfast-go/holdfast/internal/sys"
)

// system is the machine as the protocol sees it, one call a step. It is passed in once and holds no policy: no retry, no
// decision. Errors are judged by sys.KindOf.
type system interface {
	openDir(path string) (directory, error)
	mkdir(path string, mode fs.FileMode) error
	// openFile opens for reading and follows links; readlink reads one.
	openFile(path string) (file, error)
	readlink(path string) (string, error)
	// symlink makes or replaces a link in one step.
	symlink(target, path string) error
	random(p []byte)
	pause(d time.Duration)
	// refusalsPass says that on this system a refused rename or opening may succeed shortly afterwards.
	refusalsPass() bool
}

// directory is the one that the file lies in. Names are single components, never followed.
type directory interface {
	ID() (sys.FileID, error)
	Lstat(name string) (sys.Info, error)
	open(name string) (file, error)
	createNew(name string, mode fs.FileMode) (file, error)
	replace(from, to string) error
	remove(name string) error
	Sync() error
	Close() error
}

// file is an open file: the temporary one, or one that is read.
type file interface {
	Stat() (sys.Info, error)
	Read(p []byte) (int, error)
	ReadAt(p []byte, offset int64) (int, error)
	Write(p []byte) (int, error)
	Chmod(mode fs.FileMode) error
	TryLock(exclusive bool) error
	Sync() error
	Close() error
}
