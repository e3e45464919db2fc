package filelock

import (
	"context"
	"io/fs"
	"time"

	"github.com/holdfast-go/holdfast/internal/sys"
)

// system is the machine as the protocol sees it, one call a step. It is passed in once and holds no policy: no retry, no
// decision. Errors are judged by sys.KindOf.
type system interface {
	self() sys.Self
	openDir(path string) (directory, error)
	probe(pid int) sys.Process
	describe(pid int) sys.Description
	now() time.Time
	// pause returns nil after d or when wake is closed, and the context's cause when it ends first.
	pause(ctx context.Context, d time.Duration, wake <-chan struct{}) error
	// watchExit has wake called, at most once, when the process has ended.
	watchExit(pid int, wake func()) (stop func(), err error)
	after(d time.Duration, f func()) timer
	random(p []byte)
	// namesLinger reports whether a removed name may stay, refusing everything, until the last handle on it is closed.
	namesLinger() bool
}

// directory is the one that the lock lies in. Names are single components, never followed.
type directory interface {
	ID() (sys.FileID, error)
	Lstat(name string) (sys.Info, error)
	open(name string) (file, error)
	createUnnamed(perm fs.FileMode) (file, error)
	linkUnnamed(f file, name string) error
	createNew(name string, perm fs.FileMode) (file, error)
	moveNew(f file, from, to string) error
	Link(from, to string) error
	// replace renames from, which f has open, over to.
	replace(f file, from, to string) error
	remove(name string, f file) error
	// watch has wake called, at most once, when name does not mean the same inode any more. What happened before is not told.
	watch(name string, wake func()) (stop func(), err error)
	Close() error
}

// file is an open inode: a lock or claim of ours, or somebody else's that is being judged.
type file interface {
	Stat() (sys.Info, error)
	ReadAt(p []byte, offset int64) (int, error)
	Write(p []byte) (int, error)
	Chmod(perm fs.FileMode) error
	SetAttribute(name string, value []byte) error
	Attribute(name string, buf []byte) (int, error)
	TryLock(exclusive bool) error
	Unlock() error
	Local() bool
	Touch() error
	Close() error
}

type timer interface {
	Stop() bool
	Reset(d time.Duration) bool
}
