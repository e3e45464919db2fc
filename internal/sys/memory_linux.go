package sys

import "golang.org/x/sys/unix"

// InMemory reports whether the file lies in memory alone, where each content takes a page of what the file system may have,
// and cutting it costs no disk anything.
func (f *File) InMemory() bool {
	var st unix.Statfs_t
	return unix.Fstatfs(f.fd, &st) == nil && st.Type == unix.TMPFS_MAGIC
}
