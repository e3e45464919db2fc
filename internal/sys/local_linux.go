package sys

import "golang.org/x/sys/unix"

// xfs, f2fs and zfs by the numbers that they report to statfs; the first two stand in linux/magic.h, zfs in its own source.
const zfsMagic = 0x2fc12fc1

// Local reports whether the file lies on a file system that is known to be local to this kernel. Network file systems,
// FUSE and whatever is unknown are not.
func (f *File) Local() bool {
	var st unix.Statfs_t
	if repeat(func() error { return unix.Fstatfs(f.fd, &st) }) != nil {
		return false
	}
	switch uint32(st.Type) {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC,
		unix.TMPFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC, zfsMagic:
		return true
	}
	return false
}
