package compat

import (
	"github.com/holdfast-go/holdfast/filelock"
	"github.com/holdfast-go/holdfast/internal/sys"
)

// unknown is Node's code of a number of the system's that libuv has no name for.
const unknown = "UNKNOWN"

// Code returns what Node has in error.code for this failure, such as "ENOENT", and "" for nil and wherever Node's error has
// no code: a lock that was waited for in vain, an error of the operation's own that the system has no part in.
//
// It looks through everything that has an Unwrap method, *fs.PathError, *os.LinkError, *os.SyscallError and the errors of
// packages atomicwrite and filelock among it; of several joined errors the first that has a code gives it. The cause of a
// context's end has none.
//
// An error number of the system's has the code that Node has for it on that system: a file that may not be written is
// "EACCES" on Unix and "EPERM" on Windows, in both languages. Windows' numbers are named as libuv names them, whichever call
// they came from; Node changes a few of those by call. A number without a name is "UNKNOWN", as in Node on Windows; Node on
// Unix says "Unknown system error" and the number. On systems that are neither Unix nor Windows numbers have no code.
//
// What packages atomicwrite and filelock find out by themselves has one code everywhere, Node's on Unix: a directory in the
// way of a write is "EISDIR", a name too long to be written "ENAMETOOLONG", links in a circle "ELOOP". A path that names no
// file (atomicwrite.ErrInvalidPath) is "EINVAL". Errors that only say what io/fs says, such as fs.ErrNotExist without a
// number of the system's behind it, have no code.
func Code(err error) string {
	switch x := err.(type) {
	case nil:
		return ""
	case *filelock.HeldError: // a timeout, even if the system's refusal to remove a dead lock is known
		return ""
	case sys.Kind:
		return kindCodes[x]
	}
	if code := systemCode(err); code != "" {
		return code
	}
	if err == filelock.ErrInvalidPath {
		return "EINVAL"
	}
	switch x := err.(type) {
	case interface{ Unwrap() error }:
		return Code(x.Unwrap())
	case interface{ Unwrap() []error }:
		for _, e := range x.Unwrap() {
			if code := Code(e); code != "" {
				return code
			}
		}
	}
	return ""
}

// kindCodes are the codes of what packages atomicwrite and filelock find without asking the system, or tell the same on
// every system.
var kindCodes = [...]string{
	sys.Other:        "",
	sys.Exists:       "EEXIST",
	sys.NotExist:     "ENOENT",
	sys.NotPermitted: "EPERM",
	sys.AccessDenied: "EACCES",
	sys.NotDirectory: "ENOTDIR",
	sys.IsDirectory:  "EISDIR",
	sys.NotEmpty:     "ENOTEMPTY",
	sys.NoSpace:      "ENOSPC",
	sys.ReadOnly:     "EROFS",
	sys.NameTooLong:  "ENAMETOOLONG",
	sys.Busy:         "EBUSY",
	sys.CrossDevice:  "EXDEV",
	sys.Loop:         "ELOOP",
	sys.TooManyFiles: "EMFILE",
	sys.IO:           "EIO",
	sys.Invalid:      "EINVAL",
	sys.Unsupported:  "ENOTSUP",
	sys.WouldBlock:   "EAGAIN",
	sys.InUse:        "EBUSY",
	sys.NoProcess:    "ESRCH",
	sys.NoLocks:      "ENOLCK",
	sys.NoAttribute:  "ENODATA",
	sys.OutOfRange:   "ERANGE",
}
