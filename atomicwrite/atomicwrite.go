// Package atomicwrite replaces a file in one step: whoever reads it sees the old content or the new, whole, whatever is
// killed or cut off meanwhile.
//
// # Which function
//
// [WriteFile] is for content that is in memory, [Create] for content that is made bit by bit. Neither reads what was there:
// a change that depends on the old content, made by several programs, is lost unless they take turns, which is what
// [Update] is for. [ReadFile] is os.ReadFile, except that on Windows it does not stand in a replacement's way.
//
// # Atomic is not durable
//
// A replacement is atomic in any case. Whether it also survives a power cut once the call has returned is the matter of
// [Sync]; it does unless told otherwise.
//
// # What a replacement means
//
// The file at the path is a new one afterwards, with its own inode: owner, hard links, access lists and extended attributes
// of the old one do not pass over to it, nor does its mode unless [KeepMode] asks for that. A replacement needs write
// permission on the directory and none on the file. A symbolic link at the path is itself replaced, see [FollowSymlink].
//
// The new content is first written to FILE.<12 hex digits>.tmp in the same directory. That temporary file is gone after
// every outcome, except when the process is killed or the power is cut.
package atomicwrite

import (
	"io/fs"
)

// WriteFile replaces the file at path by one with this content, or makes it. If the error is nil, a reader sees all of data
// or what others wrote later, and the content survives a power cut ([Sync]).
//
// A new file gets mode less the umask, as with os.WriteFile, and so does one that replaces an older one: the stated mode
// goes to open(2), the content is never readable by more people than that, not even before it is published. Set-id and
// sticky bits are only certain with [ExactMode]. On Windows only the owner's write bit counts: without it the file is marked
// read-only, and can be replaced even so. Missing directories are made ([ParentMode]) and stay if a later step fails.
//
// Every error is an *[Error]. Unless its Replaced is true, the path has what it had before; its Temp is the temporary file
// that could not be removed, and empty otherwise. The kinds:
//   - [ErrInvalidPath]: path is empty, ends in a separator, "." or "..", or has a NUL byte.
//   - [ErrIsDirectory], [ErrIrregular]: what lies at path is not to be replaced by a file; nothing was written.
//   - [ErrNameTooLong]: the last element has more than 255 bytes (Windows: UTF-16 units). Names up to that length work.
//   - fs.ErrPermission: the directory cannot be written to, or its sticky bit or an attribute protects the file.
//   - [ErrBusy]: the file is a mount point.
//   - [ErrInUse]: on Windows, the file was open elsewhere without being shared, for all of 1.1 s.
//   - [ErrNoSpace], [ErrReadOnly], [ErrCrossDevice], [ErrLoop], fs.ErrNotExist: as they say.
//   - errors.ErrUnsupported: a system that is neither Unix nor Windows.
//   - Any other error of the system's, as itself. One with Replaced true comes from making the directory durable: the new
//     content is there, and may be gone again after a power cut.
func WriteFile(path string, data []byte, mode fs.FileMode, opts ...Option) error {
	return writeFile(osSystem{}, path, data, mode, newOptions(opts))
}

// ReadFile returns the content of the file at path, following links, like os.ReadFile. A replacement of the file by this
// package meanwhile is no error: the result is the old content or the new, whole.
//
// On Windows the file is opened so that others can replace it, which os.Open does not do, and an opening that is refused
// because a replacement is under way is tried again for 1.1 s at most. The error is an *[Error] that unwraps to the system's
// own; a missing file matches fs.ErrNotExist, a directory [ErrIsDirectory].
func ReadFile(path string) ([]byte, error) {
	return readFile(osSystem{}, path)
}

// Symlink makes path a symbolic link to target, in one step: whoever follows path gets what was there before or target. A
// file or link at path is replaced, a directory is not. The directory of path must exist; target need not.
//
// Windows and systems without links answer errors.ErrUnsupported. After any error, an *[Error], path is what it was before.
// The link is not synced: a power cut may bring the old one back.
func Symlink(target, path string) error {
	return symlink(osSystem{}, target, path)
}

func symlink(s system, target, path string) error {
	if _, _, ok := split(path); !ok {
		return &Error{Op: opPath, Path: path, Err: ErrInvalidPath}
	}
	if err := s.symlink(target, path); err != nil {
		return &Error{Op: opLink, Path: path, Err: err}
	}
	return nil
}
