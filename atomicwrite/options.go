package atomicwrite

import (
	"io/fs"

	"github.com/holdfast-go/holdfast/filelock"
)

// Option changes how a file is replaced.
type Option func(*options)

type options struct {
	sync       SyncPolicy
	parentMode fs.FileMode
	follow     bool
	keepMode   bool
	exactMode  bool
	ifChanged  bool
	refuse     bool
	locking    []filelock.Option
}

func newOptions(opts []Option) options {
	o := options{parentMode: 0o777, refuse: true}
	for _, set := range opts {
		set(&o)
	}
	return o
}

// SyncPolicy says what is made durable before a replacement returns.
type SyncPolicy uint8

const (
	// SyncAll makes the content durable before it is published, and the directory's entry afterwards, as well as the
	// entries of directories made on the way: once the call has returned nil, a power cut changes nothing. A directory
	// that was there already is taken to be durable. Two syncs, each as slow as the disk. It is the default.
	SyncAll SyncPolicy = iota
	// SyncFile makes the content durable before it is published: after a power cut the file is the old one or the new
	// one, whole, but which of them is open even after the call has returned.
	SyncFile
	// SyncNone leaves it all to the system, as Node's fs does: a power cut within seconds after the call may leave the
	// old file, the new file or, on some file systems, an empty or incomplete one. A kill or crash of the process does
	// no harm.
	SyncNone
)

// Sync sets how durable the replacement is when the call returns; [SyncAll] if it is not given. File systems that cannot
// sync a directory (EINVAL, ENOTSUP: some network file systems) are taken to have no need of it. On Windows [SyncAll] is
// [SyncFile]: the system has no call for directories.
func Sync(p SyncPolicy) Option { return func(o *options) { o.sync = p } }

// ParentMode sets the mode of missing parent directories, 0777 if it is not given; the umask applies. Directories that
// exist keep theirs.
func ParentMode(mode fs.FileMode) Option { return func(o *options) { o.parentMode = mode } }

// FollowSymlink writes beside and over the referent of a symbolic link at the path, and leaves the link. A chain is
// followed to its end; one of more than 40 links, as every loop is, is [ErrLoop]. A dangling link gets its referent made,
// as open(2) does it, in a directory that must exist: a link into nowhere is more often a volume that is not mounted than a
// wish for directories. Without this option the link itself is replaced and its referent untouched.
func FollowSymlink() Option { return func(o *options) { o.follow = true } }

// KeepMode gives the new file the permission bits of the regular file that it replaces, exactly, whatever the umask.
// Set-user-id and set-group-id are not kept, since the new file may have another owner. If there is no regular file at the
// path, the stated mode applies as if this option were absent.
func KeepMode() Option { return func(o *options) { o.keepMode = true } }

// ExactMode gives the new file exactly the stated mode, whatever the umask, before it is published. With [KeepMode] it
// concerns a file that did not exist.
func ExactMode() Option { return func(o *options) { o.exactMode = true } }

// IfChanged leaves the file alone when it has this very content already: its inode and times stay, and watchers are not
// woken. It is written all the same if it is a link that was to be replaced, if its mode is wider than the stated one, or
// with [ExactMode] different from it, or if it cannot be read. Content that is left alone is made durable as [Sync] says,
// except on Windows.
func IfChanged() Option { return func(o *options) { o.ifChanged = true } }

// RefuseIrregular says whether a FIFO, socket or device at the path is refused with [ErrIrregular], which is the default;
// with false it is replaced by a regular file. A directory is refused in any case.
func RefuseIrregular(refuse bool) Option { return func(o *options) { o.refuse = refuse } }

// Locking sets how [Update] takes the file's lock. The other functions take none and are not changed by it.
func Locking(opts ...filelock.Option) Option {
	return func(o *options) { o.locking = append(o.locking, opts...) }
}
