// Package compat has the names, defaults and error codes of the Node package @deepseek-ai/dsh-atomic-write, for programs that
// are ported from it or share files with it. What it writes and locks is the same on disk, so that Go and Node programs can
// take turns on one file.
//
// # Which function
//
// [WriteFileAtomic] is writeFileAtomic, [WithFileLock] is withFileLock, and [Code] is an error's error.code: switch on it
// where the Node program does. Go code that is not a port does better with packages atomicwrite, whose replacements also
// survive a power cut and whose Update is both functions in one, and filelock.
//
// # Same, stricter, different
//
// Held against release 0.1.0-rc.8 as npm has it, and against the protocol of the later releases, which take over a dead
// holder's lock. Each row is a test, except those marked with *, which are read in the code.
//
//	                                 Node                                here
//	same
//	  the file's mode                mode less umask, never an older's   the same
//	  an older directory's mode      is kept                             the same
//	  missing parents                made, dirMode or 0777 less umask    the same
//	  a symbolic link at the path    is itself replaced                  the same
//	  durability *                   nothing is synced                   the same
//	  the lock                       FILE.lock, "PID\n"                  the same
//	  the wait                       2 s; later: waitMs                  2 s; WaitMs
//	  a timeout                      the text, no code                   the same text, no code
//	  a directory at the lock        is waited for                       the same
//	  a dead holder                  rc.8: waited for; later: taken over taken over
//	stricter
//	  a lock on a full disk          an empty lock stays                 nothing stays: a lock is published whole
//	  a lost lock                    not noticed; the release removes    ErrLost; what is there now stays
//	                                 what is there now
//	  a dead claimant                later: its claim stays, and the     the claim is adopted
//	                                 lock is waited for
//	  a number used again *          later: two may get in               the lock says more than the number
//	  a lock within itself           waits for itself, times out         ErrReentrant at once
//	  FIFO, socket, device           is replaced by a file               refused: atomicwrite.ErrIrregular, no code
//	different
//	  the lock's mode                0600 less umask                     0600: no umask makes it unreadable
//	  names of 239 to 255 bytes      ENAMETOOLONG                        written: the temporary file's name is cut
//	  the operation and the release  the release's error replaces the    both, joined; the value beside them
//	  fail                           operation's
//	  cancelling                     none                                ctx ends the wait; the operation gets its own
//	  set-id and sticky bits         0o7000 of mode                      fs.ModeSetuid and its like, as far as the system
//	                                                                     keeps them at open(2)
//	  a parent is a file             EEXIST of the lowest, else ENOTDIR  ENOTDIR
//	  a parent is a dangling link    ENOENT, further up ENOTDIR          EEXIST
//	  parents on a read-only disk    ENOENT                              EROFS
//	  a path that names no file      ENOENT, ENOTDIR, EBUSY, EEXIST,     EINVAL: atomicwrite.ErrInvalidPath, and no
//	                                 ELOOP or ERR_INVALID_ARG_VALUE;     directory is made
//	                                 missing parents are made
//	  a lock for such a path         the lock of its text                filelock.ErrInvalidPath
//	  Windows: a file in use *       EPERM or EBUSY at once              the same after tries for 1.1 s
package compat

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"time"

	"github.com/holdfast-go/holdfast/atomicwrite"
	"github.com/holdfast-go/holdfast/filelock"
)

// WriteFileAtomicOptions are the modes of what WriteFileAtomic makes; the umask applies to both.
type WriteFileAtomicOptions struct {
	// Mode is the file's. It must be stated, as in Node: the zero value is mode 0, a file that nobody may open.
	Mode fs.FileMode
	// DirMode is that of missing parent directories; nil, Node's omission, is 0777.
	DirMode *fs.FileMode
}

// WriteFileAtomic replaces the file at filename by one with this content, or makes it, as Node's writeFileAtomic does. If the
// error is nil, a reader sees all of content or what others wrote later; a power cut within seconds may undo or harm it,
// since nothing is synced.
//
// Missing parent directories are made, and stay after an error. Existing ones keep their mode. A symbolic link at filename
// is itself replaced. The mode is given to open(2), so the content is never readable by more people than that.
//
// Every error is an *atomicwrite.Error; [Code] is Node's code for it. The file is what it was before, and nothing of ours
// lies beside it unless the error's Temp says so.
func WriteFileAtomic(filename string, content []byte, options WriteFileAtomicOptions) error {
	opts := []atomicwrite.Option{atomicwrite.Sync(atomicwrite.SyncNone)}
	if options.DirMode != nil {
		opts = append(opts, atomicwrite.ParentMode(*options.DirMode))
	}
	return atomicwrite.WriteFile(filename, content, options.Mode, opts...)
}

// FileLockOptions say how WithFileLock waits.
type FileLockOptions struct {
	// WaitMs is the longest wait in milliseconds; nil, Node's omission, is 2000. Zero is one try, which takes a dead
	// holder's lock over, and so is less than zero. A number too large for a time.Duration waits without end, as Infinity
	// does in Node.
	WaitMs *int
}

func (o FileLockOptions) wait() time.Duration {
	switch {
	case o.WaitMs == nil:
		return filelock.DefaultWait
	case *o.WaitMs <= 0:
		return 0
	case int64(*o.WaitMs) > math.MaxInt64/int64(time.Millisecond):
		return filelock.Forever
	}
	return time.Duration(*o.WaitMs) * time.Millisecond
}

// WithFileLock runs operation while holding the lock of the file at filename, which is the file filename + ".lock", and
// returns what operation returns, as Node's withFileLock does. The directory of filename must exist.
//
// While operation runs, no other process or goroutine that asks for this lock has it, Node's included. The lock is released
// after every outcome; if operation panics, the panic goes on afterwards. The context given to operation ends if the lock
// is lost: operation should then stop, and the error matches filelock.ErrLost even if operation returned none. A value that
// operation returned is passed on beside any error.
//
// A dead holder's lock is taken over, and what it protects may be half done; to be told, use filelock.With and its Takeover.
//
// If the lock cannot be had, operation does not run, the value is zero and nothing of ours is left on disk. If it was waited
// for in vain, the error's text is the one that Node callers match,
//
//	atomic-write: timed out waiting for the writer lock at <filename>.lock
//
// and errors.Is with filelock.ErrHeld and errors.As with *filelock.HeldError work, which names the holder. The other errors
// are those of filelock.Acquire; [Code] is Node's code for them.
func WithFileLock[T any](ctx context.Context, filename string, operation func(context.Context) (T, error), options FileLockOptions) (T, error) {
	var value T
	ran := false
	err := filelock.With(ctx, filename, func(ctx context.Context, _ *filelock.Lock) (err error) {
		ran = true
		value, err = operation(ctx)
		return err
	}, filelock.Wait(options.wait()))
	if held, ok := errors.AsType[*filelock.HeldError](err); ok && !ran {
		err = &timeoutError{filename, held}
	}
	return value, err
}

// timeoutError has Node's text, and the facts behind it.
type timeoutError struct {
	filename string
	held     *filelock.HeldError
}

func (e *timeoutError) Error() string {
	return "atomic-write: timed out waiting for the writer lock at " + e.filename + ".lock"
}

func (e *timeoutError) Unwrap() error { return e.held }
