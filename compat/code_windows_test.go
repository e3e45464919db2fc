package compat

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"
)

// Errors that Windows itself answers have the codes that libuv gives them.
func TestCodeOfWindows(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	put(t, at("file"), "old")
	directories("dir", "full/x")(t, dir)
	notShared := func(path string) error {
		name, err := windows.UTF16PtrFromString(path)
		require.NoError(t, err)
		h, err := windows.CreateFile(name, windows.GENERIC_READ, 0, nil, windows.OPEN_EXISTING, 0, 0)
		require.NoError(t, err)
		defer windows.CloseHandle(h)
		return open(path)
	}
	for _, c := range []struct {
		name, want string
		err        error
	}{
		{"missing file", "ENOENT", open(at("no"))},
		{"missing directory", "ENOENT", open(at("no/no"))},
		{"below a file", "ENOENT", open(at("file/no"))},
		{"create what exists", "EEXIST", createNew(at("file"))},
		{"make a directory that exists", "EEXIST", os.Mkdir(at("dir"), 0o777)},
		{"remove a directory with something in it", "ENOTEMPTY", windows.RemoveDirectory(windows.StringToUTF16Ptr(at("full")))},
		{"delete a directory as a file", "EPERM", windows.DeleteFile(windows.StringToUTF16Ptr(at("dir")))},
		{"open what is not shared", "EBUSY", notShared(at("file"))},
		{"write over a directory", "EISDIR", write(at("dir"))},
		{"too long a name", "ENAMETOOLONG", write(at(strings.Repeat("n", 256)))},
		{"lock in no directory", "ENOENT", lock(at("no/f"))},
		{"a native call", "ENOENT", windows.STATUS_OBJECT_NAME_NOT_FOUND},
		{"a number that Go made up", "EISDIR", syscall.EISDIR},
		{"a number that nobody names", "UNKNOWN", windows.ERROR_DELETE_PENDING},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Error(t, c.err)
			assert.Equal(t, c.want, Code(c.err), "%v", c.err)
		})
	}
}
