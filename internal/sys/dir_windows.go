package sys

import (
	"io/fs"
	"path/filepath"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Dir is a directory by its absolute path: what is created in it does not depend on the working directory any more.
// Names are never followed through reparse points.
type Dir struct {
	path string
}

// Sharing everything is what lets others replace and remove a file that somebody has open.
const shareAll = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE

// OpenDir checks that path is a directory and makes it absolute.
func OpenDir(path string) (*Dir, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	d := &Dir{abs}
	info, err := d.stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode.IsDir() {
		return nil, NotDirectory
	}
	return d, nil
}

// Close has nothing to close here.
func (d *Dir) Close() error { return nil }

// ID is the identity of the directory, the same through every spelling of its path.
func (d *Dir) ID() (FileID, error) {
	info, err := d.stat()
	return info.ID, err
}

func (d *Dir) stat() (Info, error) {
	return statPath(d.path, windows.FILE_FLAG_BACKUP_SEMANTICS)
}

// Lstat looks at name without following it.
func (d *Dir) Lstat(name string) (Info, error) {
	return statPath(d.join(name), windows.FILE_FLAG_BACKUP_SEMANTICS|windows.FILE_FLAG_OPEN_REPARSE_POINT)
}

func statPath(path string, flags uint32) (Info, error) {
	h, err := create(path, windows.FILE_READ_ATTRIBUTES, windows.OPEN_EXISTING, flags)
	if err != nil {
		return Info{}, err
	}
	defer windows.CloseHandle(h)
	return statHandle(h)
}

// Open opens name for reading, a link as the link itself, and asks for the right to remove it through this handle where
// that is granted.
func (d *Dir) Open(name string) (*File, error) {
	const flags = windows.FILE_FLAG_OPEN_REPARSE_POINT
	h, err := create(d.join(name), windows.GENERIC_READ|windows.DELETE, windows.OPEN_EXISTING, flags)
	if err == windows.ERROR_ACCESS_DENIED || err == windows.ERROR_SHARING_VIOLATION {
		h, err = create(d.join(name), windows.GENERIC_READ, windows.OPEN_EXISTING, flags)
	}
	if err != nil {
		return nil, err
	}
	return &File{h: h}, nil
}

// CreateNew makes name and opens it for reading, writing, renaming and removing; a name that exists is an error of kind
// [Exists]. A perm without owner write makes it read-only.
func (d *Dir) CreateNew(name string, perm fs.FileMode) (*File, error) {
	attrs := uint32(windows.FILE_ATTRIBUTE_NORMAL)
	if perm&0o200 == 0 {
		attrs = windows.FILE_ATTRIBUTE_READONLY
	}
	h, err := create(d.join(name), windows.GENERIC_READ|windows.GENERIC_WRITE|windows.DELETE, windows.CREATE_NEW, attrs)
	if err != nil {
		return nil, err
	}
	return &File{h: h}, nil
}

// CreateUnnamed is [Unsupported] here.
func (d *Dir) CreateUnnamed(fs.FileMode) (*File, error) { return nil, Unsupported }

// LinkUnnamed is [Unsupported] here.
func (d *Dir) LinkUnnamed(*File, string) error { return Unsupported }

// Link is [Unsupported] here: a hard link would keep the first name visible as long as its handle is open.
func (d *Dir) Link(string, string) error { return Unsupported }

// MoveNew renames the open file to to, which must not exist.
func (d *Dir) MoveNew(f *File, _, to string) error {
	return f.rename(d.join(to), windows.FileRenameInfo, 0)
}

// Replace renames from to to in one step; what was at to is gone. POSIX semantics replace even a file that readers have
// open, provided they share delete; where the system lacks them, MoveFileEx does what it can.
func (d *Dir) Replace(f *File, from, to string) error {
	const flags = windows.FILE_RENAME_REPLACE_IF_EXISTS | windows.FILE_RENAME_POSIX_SEMANTICS |
		windows.FILE_RENAME_IGNORE_READONLY_ATTRIBUTE
	err := d.replaceByHandle(f, from, to, flags)
	if !IsKind(err, Unsupported, Invalid) {
		return err
	}
	from16, err := windows.UTF16PtrFromString(long(d.join(from)))
	if err != nil {
		return err
	}
	to16, err := windows.UTF16PtrFromString(long(d.join(to)))
	if err != nil {
		return err
	}
	d.clearReadOnly(to)
	return windows.MoveFileEx(from16, to16, windows.MOVEFILE_REPLACE_EXISTING)
}

func (d *Dir) replaceByHandle(f *File, from, to string, flags uint32) error {
	if f == nil {
		h, err := create(d.join(from), windows.DELETE|windows.SYNCHRONIZE, windows.OPEN_EXISTING, windows.FILE_FLAG_OPEN_REPARSE_POINT)
		if err != nil {
			return err
		}
		f = &File{h: h}
		defer f.Close()
	}
	return f.rename(d.join(to), windows.FileRenameInfoEx, flags)
}

// clearReadOnly lets MoveFileEx and deletion without POSIX semantics have a file whose stated mode had no owner write.
func (d *Dir) clearReadOnly(name string) {
	path, err := windows.UTF16PtrFromString(long(d.join(name)))
	if err != nil {
		return
	}
	attrs, err := windows.GetFileAttributes(path)
	if err == nil && attrs&windows.FILE_ATTRIBUTE_READONLY != 0 {
		_ = windows.SetFileAttributes(path, attrs&^windows.FILE_ATTRIBUTE_READONLY)
	}
}

// Remove removes name, never a directory. With f it removes exactly the file that f has open; on a system without POSIX
// deletion the name stays until the last handle is closed.
func (d *Dir) Remove(name string, f *File) error {
	if f != nil {
		return f.remove()
	}
	h, err := create(d.join(name), windows.DELETE, windows.OPEN_EXISTING, windows.FILE_FLAG_OPEN_REPARSE_POINT)
	if err != nil {
		return err
	}
	f = &File{h: h}
	err = f.remove()
	if err == windows.ERROR_ACCESS_DENIED {
		d.clearReadOnly(name)
		err = f.remove()
	}
	return firstOf(err, f.Close())
}

// Sync does nothing here: the system has no call for it, and NTFS journals names itself.
func (d *Dir) Sync() error { return nil }

// join is the absolute path of a name in the directory. That of a root ends in a separator, and a path with a prefix may have
// no two of them.
func (d *Dir) join(name string) string { return strings.TrimSuffix(d.path, `\`) + `\` + name }

func create(path string, access, disposition, flags uint32) (windows.Handle, error) {
	p, err := windows.UTF16PtrFromString(long(path))
	if err != nil {
		return windows.InvalidHandle, err
	}
	return windows.CreateFile(p, access, shareAll, nil, disposition, flags, 0)
}

// long gives an absolute path the prefix that lifts the limit of 260 characters. Such a path is taken literally, which
// is right for one that filepath.Abs has cleaned.
func long(path string) string {
	const limit = 248 // the limit for directories; that for files is higher
	switch {
	case len(path) < limit || strings.HasPrefix(path, `\\?\`) || strings.HasPrefix(path, `\\.\`):
		return path
	case strings.HasPrefix(path, `\\`):
		return `\\?\UNC\` + path[2:]
	default:
		return `\\?\` + path
	}
}

func statHandle(h windows.Handle) (Info, error) {
	var i windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(h, &i); err != nil {
		return Info{}, err
	}
	mode := fs.FileMode(0o666)
	if i.FileAttributes&windows.FILE_ATTRIBUTE_READONLY != 0 {
		mode = 0o444
	}
	switch {
	case i.FileAttributes&windows.FILE_ATTRIBUTE_REPARSE_POINT != 0:
		mode = reparseMode(h, mode)
	case i.FileAttributes&windows.FILE_ATTRIBUTE_DIRECTORY != 0:
		mode |= fs.ModeDir | 0o111
	}
	return Info{
		ID:      FileID{uint64(i.VolumeSerialNumber), uint64(i.FileIndexHigh)<<32 | uint64(i.FileIndexLow)},
		Mode:    mode,
		Size:    int64(i.FileSizeHigh)<<32 | int64(i.FileSizeLow),
		ModTime: time.Unix(0, i.LastWriteTime.Nanoseconds()),
		Links:   uint64(i.NumberOfLinks),
	}, nil
}

// reparseMode tells links from other reparse points, such as files kept in the cloud, which are ordinary files to their
// readers.
func reparseMode(h windows.Handle, mode fs.FileMode) fs.FileMode {
	var tag struct{ attributes, tag uint32 }
	err := windows.GetFileInformationByHandleEx(h, windows.FileAttributeTagInfo, (*byte)(unsafe.Pointer(&tag)), uint32(unsafe.Sizeof(tag)))
	const nameSurrogate = 0x20000000
	if err != nil || tag.tag&nameSurrogate != 0 {
		return mode | fs.ModeSymlink
	}
	if tag.attributes&windows.FILE_ATTRIBUTE_DIRECTORY != 0 {
		return mode | fs.ModeDir | 0o111
	}
	return mode
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
