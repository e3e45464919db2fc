//go:build darwin || freebsd

package sys

import "golang.org/x/sys/unix"

// Local reports whether the file lies on a file system that is known to be local to this kernel. Network file systems,
// FUSE and whatever is unknown are not.
func (f *File) Local() bool {
	var st unix.Statfs_t
	if repeat(func() error { return unix.Fstatfs(f.fd, &st) }) != nil || st.Flags&unix.MNT_LOCAL == 0 {
		return false
	}
	switch unix.ByteSliceToString(st.Fstypename[:]) {
	case "apfs", "hfs", "ufs", "zfs", "tmpfs":
		return true
	}
	return false
}
