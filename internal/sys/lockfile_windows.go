package sys

import (
	"io/fs"
	"path/filepath"
	"strings"
	"unsafe"

	"golang.org/x/sys/windows"
)

// A lock file that somebody has open cannot be renamed or removed: its handles do not share that right.
const shareLock = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE

// OpenLock opens the lock file at path; links in its directory are followed, a link at path is opened as itself.
func OpenLock(path string) (*File, error) {
	dir, name := filepath.Split(path)
	return openBelow(dir, name, windows.FILE_OPEN)
}

// CreateLock makes the lock file at path, which must not exist.
func CreateLock(path string, _ fs.FileMode) (*File, error) {
	dir, name := filepath.Split(path)
	return openBelow(dir, name, windows.FILE_CREATE)
}

// OpenLockBeneath opens the lock file at path below the directory root. Links in root are followed, none below it; a path
// that leaves root is of kind [CrossDevice]. A link in the last place is opened as itself.
func OpenLockBeneath(root, path string) (*File, error) {
	if !filepath.IsLocal(path) {
		return nil, CrossDevice
	}
	return openBelow(root, filepath.Clean(path), windows.FILE_OPEN)
}

// CreateLockBeneath makes the lock file at path below the directory root, as OpenLockBeneath opens it.
func CreateLockBeneath(root, path string, _ fs.FileMode) (*File, error) {
	if !filepath.IsLocal(path) {
		return nil, CrossDevice
	}
	return openBelow(root, filepath.Clean(path), windows.FILE_CREATE)
}

func openBelow(root, path string, disposition uint32) (*File, error) {
	const onTheWay = windows.FILE_TRAVERSE | windows.FILE_READ_ATTRIBUTES | windows.SYNCHRONIZE
	at, err := create(root, onTheWay, windows.OPEN_EXISTING, windows.FILE_FLAG_BACKUP_SEMANTICS)
	if err != nil {
		return nil, err
	}
	for {
		name, rest, more := strings.Cut(path, `\`)
		if !more {
			const access = windows.GENERIC_READ | windows.GENERIC_WRITE | windows.SYNCHRONIZE
			h, err := createBelow(at, name, access, shareLock, disposition, windows.FILE_NON_DIRECTORY_FILE)
			windows.CloseHandle(at)
			if err != nil {
				return nil, err
			}
			return &File{h: h}, nil
		}
		next, err := createBelow(at, name, onTheWay, shareAll, windows.FILE_OPEN, windows.FILE_DIRECTORY_FILE)
		windows.CloseHandle(at)
		if err != nil {
			return nil, err
		}
		info, err := statHandle(next)
		if err == nil && !info.Mode.IsDir() {
			err = Loop
		}
		if err != nil {
			windows.CloseHandle(next)
			return nil, err
		}
		at, path = next, rest
	}
}

// createBelow opens one component of a path, a reparse point as itself.
func createBelow(dir windows.Handle, name string, access, share, disposition, options uint32) (windows.Handle, error) {
	wide, err := windows.NewNTUnicodeString(name)
	if err != nil {
		return windows.InvalidHandle, err
	}
	object := windows.OBJECT_ATTRIBUTES{
		RootDirectory: dir,
		ObjectName:    wide,
		Attributes:    windows.OBJ_CASE_INSENSITIVE,
	}
	object.Length = uint32(unsafe.Sizeof(object))
	options |= windows.FILE_OPEN_REPARSE_POINT | windows.FILE_SYNCHRONOUS_IO_NONALERT
	var h windows.Handle
	var status windows.IO_STATUS_BLOCK
	err = windows.NtCreateFile(&h, access, &object, &status, nil, windows.FILE_ATTRIBUTE_NORMAL, share, disposition, options, 0, 0)
	if nt, ok := err.(windows.NTStatus); ok {
		return windows.InvalidHandle, nt.Errno()
	}
	return h, err
}

// Absolute makes path independent of the working directory.
func Absolute(path string) (string, error) { return filepath.Abs(path) }

// Lstat looks at an absolute path without following its last component.
func Lstat(path string) (Info, error) {
	return statPath(path, windows.FILE_FLAG_BACKUP_SEMANTICS|windows.FILE_FLAG_OPEN_REPARSE_POINT)
}

// WriteAt writes some or all of p at offset and says how much.
func (f *File) WriteAt(p []byte, offset int64) (int, error) {
	var n uint32
	at := windows.Overlapped{Offset: uint32(offset), OffsetHigh: uint32(offset >> 32)}
	err := windows.WriteFile(f.h, p, &n, &at)
	return int(n), err
}

// Truncate makes the file this long.
func (f *File) Truncate(size int64) error { return windows.Ftruncate(f.h, size) }
