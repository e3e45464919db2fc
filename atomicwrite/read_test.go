package atomicwrite

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	for _, size := range []int{0, 1, 511, 512, 513, 100_000} {
		data := bytes.Repeat([]byte{'d'}, size)
		require.NoError(t, os.WriteFile(path, data, 0o600))
		got, err := ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, data, got)
		assert.NotNil(t, got)
	}

	var e *Error
	_, err := ReadFile(filepath.Join(dir, "none"))
	require.ErrorAs(t, err, &e)
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = ReadFile(dir)
	require.ErrorIs(t, err, ErrIsDirectory)
	assert.Equal(t, dir+": cannot read it: is a directory", err.Error())

	open := descriptors(t)
	for step := 0; ; step++ {
		m := newMachine()
		m.before[step] = injected
		_, err := readFile(m, path)
		assert.Equal(t, open, descriptors(t))
		if m.steps[step] == "close" { // the last one, and of no matter
			require.NoError(t, err)
			assert.Equal(t, 4, step)
			break
		}
		require.ErrorIs(t, err, injected)
	}
}

func TestReadFileOfUnix(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	want, err := os.ReadFile("/proc/version") // says 0 bytes, has some
	require.NoError(t, err)
	got, err := ReadFile("/proc/version")
	require.NoError(t, err)
	assert.Equal(t, string(want), string(got))
}

func TestSymlink(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "link")
	if runtime.GOOS == "windows" {
		err := Symlink("target", path)
		require.ErrorIs(t, err, errors.ErrUnsupported)
		assert.Empty(t, names(t, dir))
		return
	}
	for _, target := range []string{"first", "second"} {
		require.NoError(t, Symlink(target, path))
		got, err := os.Readlink(path)
		require.NoError(t, err)
		assert.Equal(t, target, got)
	}
	put(t, filepath.Join(dir, "file"), oldContent, 0o600)
	require.NoError(t, Symlink("third", filepath.Join(dir, "file")))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "sub"), 0o755))

	var e *Error
	err := Symlink("target", filepath.Join(dir, "sub"))
	require.ErrorAs(t, err, &e)
	assert.DirExists(t, filepath.Join(dir, "sub"))
	err = Symlink("target", filepath.Join(dir, "none", "link"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	assert.Equal(t, filepath.Join(dir, "none", "link")+": cannot make the link: no such file or directory", err.Error())
	assert.Equal(t, []string{"file", "link", "sub"}, names(t, dir))
}
