package sys

// Kind says what an error of the system means, the same on every system. A Kind is an error itself, so that it can
// be a target of errors.Is.
type Kind uint8

// The kinds. Where one errno means different things on different systems, the kind follows the meaning.
const (
	Other        Kind = iota
	Exists            // EEXIST
	NotExist          // ENOENT
	NotPermitted      // EPERM; Windows: access denied
	AccessDenied      // EACCES
	NotDirectory      // ENOTDIR
	IsDirectory       // EISDIR
	NotEmpty          // ENOTEMPTY
	NoSpace           // ENOSPC, EDQUOT
	ReadOnly          // EROFS
	NameTooLong       // ENAMETOOLONG
	Busy              // EBUSY
	CrossDevice       // EXDEV
	Loop              // ELOOP
	TooManyFiles      // EMFILE, ENFILE
	IO                // EIO
	Invalid           // EINVAL
	Unsupported       // ENOSYS, EOPNOTSUPP
	NoLocks           // ENOLCK: no lock manager, or no memory for a lock, which says nothing about whether one is held
	WouldBlock        // EAGAIN; Windows: a lock held by another handle
	InUse             // Windows only: sharing violation, delete pending
	NoAttribute       // ENODATA, ENOATTR
	OutOfRange        // ERANGE
	NoProcess         // ESRCH
)

var kindText = [...]string{
	Other:        "system error",
	Exists:       "file exists",
	NotExist:     "no such file or directory",
	NotPermitted: "operation not permitted",
	AccessDenied: "permission denied",
	NotDirectory: "not a directory",
	IsDirectory:  "is a directory",
	NotEmpty:     "directory not empty",
	NoSpace:      "no space left on device",
	ReadOnly:     "read-only file system",
	NameTooLong:  "file name too long",
	Busy:         "device or resource busy",
	CrossDevice:  "not on one file system",
	Loop:         "too many levels of symbolic links",
	TooManyFiles: "too many open files",
	IO:           "input/output error",
	Invalid:      "invalid argument",
	Unsupported:  "not supported by this system",
	NoLocks:      "no locks available",
	WouldBlock:   "locked by another",
	InUse:        "in use by another process",
	NoProcess:    "no such process",
	NoAttribute:  "no such attribute",
	OutOfRange:   "result too large",
}

func (k Kind) Error() string { return kindText[k] }

// Is makes a Kind match the portable errors of package errors and io/fs.
func (k Kind) Is(target error) bool { return portable(k, target) }

// KindOf returns the kind of err, looking through wrappers; nil and foreign errors are [Other].
func KindOf(err error) Kind {
	for err != nil {
		if k, ok := err.(Kind); ok {
			return k
		}
		if k := errnoKind(err); k != Other {
			return k
		}
		switch x := err.(type) {
		case interface{ Unwrap() error }:
			err = x.Unwrap()
		case interface{ Unwrap() []error }:
			for _, e := range x.Unwrap() {
				if k := KindOf(e); k != Other {
					return k
				}
			}
			return Other
		default:
			return Other
		}
	}
	return Other
}

// IsKind reports whether err has one of kinds.
func IsKind(err error, kinds ...Kind) bool {
	if err == nil {
		return false
	}
	have := KindOf(err)
	for _, k := range kinds {
		if k == have {
			return true
		}
	}
	return false
}
