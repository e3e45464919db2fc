package atomicwrite

import (
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-go/holdfast/filelock"
	"github.com/holdfast-go/holdfast/internal/oneline"
	"github.com/holdfast-go/holdfast/internal/sys"
)

// The kinds of error to branch on, the same on every system. An *[Error] matches them by what its system error means, so
// that ENOSPC and EDQUOT are both ErrNoSpace; it also matches the system's error itself and the errors of io/fs.
var (
	// ErrBusy says that the file is a mount point, such as a bind-mounted file in a container: it can be written in place,
	// not replaced.
	ErrBusy error = sys.Busy

	// ErrInUse says that another program has the file open without sharing it. Only on Windows.
	ErrInUse error = sys.InUse

	// ErrCrossDevice says that the file system does not rename between two names of this one directory.
	ErrCrossDevice error = sys.CrossDevice

	// ErrNoSpace says that the disk or the quota is full.
	ErrNoSpace error = sys.NoSpace

	// ErrReadOnly says that the file system is mounted read-only.
	ErrReadOnly error = sys.ReadOnly

	// ErrNameTooLong says that the file's name or its path is longer than the system allows.
	ErrNameTooLong error = sys.NameTooLong

	// ErrIsDirectory says that a directory lies at the path.
	ErrIsDirectory error = sys.IsDirectory

	// ErrLoop says that links lead in a circle, or more than 40 from one to the next.
	ErrLoop error = sys.Loop

	// ErrIrregular says that a FIFO, socket or device lies at the path, and was not to be replaced.
	ErrIrregular = errors.New("not a regular file")

	// ErrInvalidPath says that a path names no file: empty, ".", "..", with a trailing separator or a NUL byte. It is
	// filelock's error of that name.
	ErrInvalidPath = filelock.ErrInvalidPath
)

// errMoved says that the lock is in a directory that the path does not lead to any more.
var errMoved = errors.New("another one has come into its place during the wait for the lock; try again")

// The steps of an Error, in words.
const (
	opPath    = "use this path"
	opOpenDir = "open the directory"
	opMakeDir = "make the directory"
	opLook    = "look at"
	opFollow  = "read the link"
	opRefuse  = "replace it"
	opCreate  = "create a temporary file in the directory"
	opWrite   = "write the temporary file"
	opChmod   = "set the mode of the temporary file"
	opSync    = "sync the temporary file"
	opClose   = "close the temporary file"
	opCheck   = "replace it under its lock"
	opRename  = "rename the temporary file over it"
	opSyncDir = "sync the directory"
	opRemove  = "remove the temporary file"
	opRead    = "read it"
	opLink    = "make the link"
)

// Error is a replacement or reading that failed at one of its steps.
type Error struct {
	Op       string // the step, in words
	Path     string // the file, as the caller named it
	Temp     string // the temporary file that was left because it could not be removed; empty if none was
	Replaced bool   // the new content is visible at Path all the same
	Err      error  // the system's error, or one of this package

	object string // what Op was done to, if not Path itself
	left   error  // why Temp could not be removed
}

// Unwrap returns the system's error.
func (e *Error) Unwrap() error { return e.Err }

// Is makes the error match the kinds above.
func (e *Error) Is(target error) bool {
	kind, ok := target.(sys.Kind)
	return ok && sys.KindOf(e.Err) == kind
}

// Error is one line: what failed, why, what is on disk now, what to do next.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: cannot %s", oneline.Path(e.Path), e.Op)
	if e.object != "" {
		b.WriteString(" " + oneline.Path(e.object))
	}
	if e.Err != nil {
		b.WriteString(": " + oneline.Path(e.Err.Error()))
	}
	if advice := e.advice(); advice != "" {
		b.WriteString("; " + advice)
	}
	switch {
	case e.Replaced && e.Op == opSyncDir:
		b.WriteString("; the new content is in place, but a power cut may bring the old back")
	case e.Replaced:
		b.WriteString("; the new content is in place")
	}
	if e.Temp != "" {
		fmt.Fprintf(&b, "; the temporary file %s is left, remove it", oneline.Path(e.Temp))
		if e.left != nil {
			b.WriteString(": " + oneline.Path(e.left.Error()))
		}
	}
	return b.String()
}

// advice is what a person needs to know besides the system's own words.
func (e *Error) advice() string {
	switch sys.KindOf(e.Err) {
	case sys.Busy:
		return "a mount point, such as a bind-mounted file, cannot be replaced: mount its directory instead"
	case sys.CrossDevice:
		return "the file system does not rename within this directory: use another directory"
	case sys.NoSpace:
		return "free space or quota and try again"
	case sys.ReadOnly:
		return "mount the file system writable"
	case sys.NameTooLong:
		return "a file name may have 255 bytes (Windows: characters), a path a few thousand: shorten it"
	case sys.Loop:
		return "its links lead in a circle or are more than 40: mend them"
	case sys.InUse, sys.WouldBlock:
		return "another program has the file open and does not share it, tried for 1.1 s: close it there and try again"
	case sys.NotPermitted, sys.AccessDenied:
		return e.deniedAdvice()
	case sys.NotExist:
		if e.Op == opOpenDir {
			return "make the directory, or mount what it lies on"
		}
	}
	return ""
}

func (e *Error) deniedAdvice() string {
	switch e.Op {
	case opCreate:
		return "a replacement needs write permission on that directory, not on the file"
	case opRename:
		return deniedAdvice
	case opSyncDir:
		return "it takes read permission on the directory; Sync(SyncFile) does without"
	}
	return ""
}
