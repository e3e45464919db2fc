//go:build unix

package sys

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

// File is an open file. It is closed by Close and by nothing else: a kernel lock on it must not end because the collector
// ran.
type File struct {
	fd int
}

// OpenFile opens the file at path for reading, as open(2) does: links are followed, a FIFO blocks.
func OpenFile(path string) (*File, error) {
	fd, err := open(unix.AT_FDCWD, path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return &File{fd}, nil
}

// Stat looks at the open file.
func (f *File) Stat() (Info, error) {
	var st unix.Stat_t
	if err := repeat(func() error { return unix.Fstat(f.fd, &st) }); err != nil {
		return Info{}, err
	}
	return statInfo(&st), nil
}

// Read reads from where the last read or write ended.
func (f *File) Read(p []byte) (int, error) {
	n, err := repeated(func() (int, error) { return unix.Read(f.fd, p) })
	return max(n, 0), err
}

// ReadAt reads from offset; 0 bytes without an error is the end of the file.
func (f *File) ReadAt(p []byte, offset int64) (int, error) {
	n, err := repeated(func() (int, error) { return unix.Pread(f.fd, p, offset) })
	return max(n, 0), err
}

// Write writes some or all of p and says how much.
func (f *File) Write(p []byte) (int, error) {
	n, err := repeated(func() (int, error) { return unix.Write(f.fd, p) })
	return max(n, 0), err
}

// Chmod sets exactly these permission bits, whatever the umask.
func (f *File) Chmod(perm fs.FileMode) error {
	return repeat(func() error { return unix.Fchmod(f.fd, modeBits(perm)) })
}

// Sync makes content and size durable.
func (f *File) Sync() error { return repeat(func() error { return syncFD(f.fd) }) }

// Close closes the file and drops its kernel lock.
func (f *File) Close() error { return unix.Close(f.fd) }

// TryLock takes the kernel's advisory lock on the file, shared or exclusive, without waiting: kind [WouldBlock] if
// another open file has one that excludes it.
func (f *File) TryLock(exclusive bool) error {
	return repeat(func() error { return tryFlock(f.fd, exclusive) })
}

// Unlock drops the kernel lock at once, also for children that were forked and have not executed yet.
func (f *File) Unlock() error { return repeat(func() error { return unflock(f.fd) }) }
