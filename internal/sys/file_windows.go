package sys

import (
	"io/fs"
	"path/filepath"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// File is an open file. It is closed by Close and by nothing else: a kernel lock on it must not end because the collector
// ran.
type File struct {
	h windows.Handle
}

// OpenFile opens the file at path for reading, following links; others may write, replace and remove it meanwhile. A
// directory can be opened, so that Stat can tell it from a file that is refused.
func OpenFile(path string) (*File, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	h, err := create(abs, windows.GENERIC_READ, windows.OPEN_EXISTING, windows.FILE_FLAG_BACKUP_SEMANTICS)
	if err != nil {
		return nil, err
	}
	return &File{h: h}, nil
}

// Stat looks at the open file.
func (f *File) Stat() (Info, error) { return statHandle(f.h) }

// Read reads from where the last read or write ended; 0 bytes without an error is the end of the file.
func (f *File) Read(p []byte) (int, error) {
	n, err := windows.Read(f.h, p)
	return max(n, 0), err
}

// ReadAt reads from offset; 0 bytes without an error is the end of the file.
func (f *File) ReadAt(p []byte, offset int64) (int, error) {
	var n uint32
	at := windows.Overlapped{Offset: uint32(offset), OffsetHigh: uint32(offset >> 32)}
	err := windows.ReadFile(f.h, p, &n, &at)
	if err == windows.ERROR_HANDLE_EOF {
		err = nil
	}
	return int(n), err
}

// Write writes some or all of p and says how much.
func (f *File) Write(p []byte) (int, error) {
	n, err := windows.Write(f.h, p)
	return max(n, 0), err
}

// Chmod does nothing here: who may read a file is the directory's access list's to say.
func (f *File) Chmod(fs.FileMode) error { return nil }

// Sync makes content and size durable.
func (f *File) Sync() error { return windows.FlushFileBuffers(f.h) }

// Close closes the file and drops its kernel lock.
func (f *File) Close() error { return windows.CloseHandle(f.h) }

// The kernel lock is on one byte that no content reaches, since it would keep others from reading what it covers.
var lockedByte = windows.Overlapped{OffsetHigh: 0x7fffffff}

// TryLock takes the kernel's lock on the file, shared or exclusive, without waiting: kind [WouldBlock] if another handle
// has one that excludes it.
func (f *File) TryLock(exclusive bool) error {
	how := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if exclusive {
		how |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	at := lockedByte
	return windows.LockFileEx(f.h, how, 0, 1, 0, &at)
}

// Unlock drops the kernel lock.
func (f *File) Unlock() error {
	at := lockedByte
	return windows.UnlockFileEx(f.h, 0, 1, 0, &at)
}

// Touch sets access and modification time of the open file to now.
func (f *File) Touch() error {
	now := windows.NsecToFiletime(time.Now().UnixNano())
	return windows.SetFileTime(f.h, nil, &now, &now)
}

// rename moves the open file to an absolute path. The structure is FILE_RENAME_INFO; its first field is a flag byte for
// FileRenameInfo and a word of flags for FileRenameInfoEx.
func (f *File) rename(to string, class uint32, flags uint32) error {
	name, err := windows.UTF16FromString(long(to))
	if err != nil {
		return err
	}
	type header struct {
		flags  uint32
		root   windows.Handle
		length uint32
		name   [1]uint16
	}
	const nameAt = unsafe.Offsetof(header{}.name)
	buf := make([]uint64, (nameAt+uintptr(len(name))*2)/8+2)
	info := (*header)(unsafe.Pointer(&buf[0]))
	info.flags = flags
	info.length = uint32(len(name)-1) * 2
	copy(unsafe.Slice(&info.name[0], len(name)), name)
	return windows.SetFileInformationByHandle(f.h, class, (*byte)(unsafe.Pointer(info)), uint32(len(buf)*8))
}

func (f *File) remove() error {
	flags := uint32(windows.FILE_DISPOSITION_DELETE | windows.FILE_DISPOSITION_POSIX_SEMANTICS |
		windows.FILE_DISPOSITION_IGNORE_READONLY_ATTRIBUTE)
	err := windows.SetFileInformationByHandle(f.h, windows.FileDispositionInfoEx, (*byte)(unsafe.Pointer(&flags)), 4)
	if !IsKind(err, Unsupported, Invalid) {
		return err
	}
	yes := byte(1)
	return windows.SetFileInformationByHandle(f.h, windows.FileDispositionInfo, &yes, 1)
}
