//go:build unix

package sys

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Both ways of opening below a directory give the same answers: the kernel's own, where it has one, and the walk that stands
// in for it.
func TestOpenBeneath(t *testing.T) {
	top := t.TempDir()
	root := filepath.Join(top, "root")
	require.NoError(t, os.MkdirAll(filepath.Join(root, "a", "b"), 0o700))
	for _, name := range []string{"file", "a/file", "a/b/file", "../victim"} {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), nil, 0o600))
	}
	for at, to := range map[string]string{"link": "file", "a/link": "b", "a/up": "..", "a/out": "../..", "dangling": "missing"} {
		require.NoError(t, os.Symlink(to, filepath.Join(root, at)))
	}
	dir, err := open(unix.AT_FDCWD, root, dirFlags|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	defer unix.Close(dir)
	const anyRefusal = Kind(255)
	for path, want := range map[string]Kind{
		"file":         Other,
		"a/file":       Other,
		"a/b/file":     Other,
		"missing":      NotExist,
		"a/missing/c":  NotExist,
		"file/c":       NotDirectory,
		"a/b":          IsDirectory,
		"link":         anyRefusal,
		"dangling":     anyRefusal,
		"a/link/file":  anyRefusal,
		"a/up/file":    anyRefusal,
		"a/out/victim": anyRefusal,
	} {
		for name, openIt := range map[string]func(int, string, int, uint32) (int, error){"walk": walk, "kernel": openBeneath} {
			fd, err := openIt(dir, path, lockFlags, 0)
			if err == nil {
				unix.Close(fd)
			}
			switch want {
			case Other:
				assert.NoError(t, err, "%s: %s", name, path)
			case anyRefusal:
				assert.True(t, IsKind(err, Loop, NotDirectory) || errors.Is(err, unix.EMLINK), "%s: %s: %v", name, path, err)
			default:
				assert.True(t, IsKind(err, want), "%s: %s: %v", name, path, err)
			}
			if want == NotExist || want == anyRefusal {
				fd, err = openIt(dir, path, lockFlags|unix.O_CREAT|unix.O_EXCL, 0o600)
				if path == "missing" && assert.NoError(t, err) {
					unix.Close(fd)
					require.NoError(t, os.Remove(filepath.Join(root, path)))
				} else if path != "missing" {
					assert.Error(t, err, "%s: %s", name, path)
				}
			}
		}
	}
	for _, path := range []string{"../victim", "a/../../victim", filepath.Join(top, "victim"), ""} {
		_, err := OpenLockBeneath(root, path)
		assert.True(t, IsKind(err, CrossDevice), "%q: %v", path, err)
		_, err = CreateLockBeneath(root, path, 0o600)
		assert.True(t, IsKind(err, CrossDevice), "%q: %v", path, err)
	}
	f, err := OpenLockBeneath(root, "a/./b/../file")
	require.NoError(t, err)
	require.NoError(t, f.Close())
}

// A lock manager that is not there, as with NFS, is a lock that the system does not have.
func TestNoLockManager(t *testing.T) {
	assert.Equal(t, NoLocks, KindOf(syscall.ENOLCK))
	assert.ErrorIs(t, NoLocks, errors.ErrUnsupported)
	assert.ErrorIs(t, Unsupported, errors.ErrUnsupported)
}

func TestAbsolute(t *testing.T) {
	t.Chdir(t.TempDir())
	wd, err := os.Getwd()
	require.NoError(t, err)
	for path, want := range map[string]string{"/a/../b": "/a/../b", "a": wd + "/a", "../a": wd + "/../a"} {
		got, err := Absolute(path)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
}
