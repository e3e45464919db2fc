package compat

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/atomicwrite"
	"github.com/holdfast-go/holdfast/filelock"
	"github.com/holdfast-go/holdfast/internal/sys"
)

// failing is a call that fails in Node and in Go, each in a directory that was prepared in the same way.
type failing struct {
	name    string
	want    string
	prepare func(t *testing.T, dir string)
	node    func(dir string) request
	call    func(dir string) error
	windows string // what is wanted there instead; "-" if the call is another there
}

func write(path string) error {
	return WriteFileAtomic(path, []byte("new"), WriteFileAtomicOptions{Mode: 0o600})
}

func lock(path string) error {
	_, err := WithFileLock(context.Background(), path, func(context.Context) (int, error) { return 0, nil }, FileLockOptions{})
	return err
}

func inNode(call, name string, more ...any) func(string) request {
	return func(dir string) request {
		return request{Call: call, Args: append([]any{filepath.Join(dir, name)}, more...)}
	}
}

func inGo(do func(path string) error, name string) func(string) error {
	return func(dir string) error { return do(filepath.Join(dir, name)) }
}

var stated = map[string]int{"mode": 0o600}

func directories(names ...string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		for _, name := range names {
			require.NoError(t, os.MkdirAll(filepath.Join(dir, name), 0o755))
		}
	}
}

func files(names ...string) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		for _, name := range names {
			put(t, filepath.Join(dir, name), "old")
		}
	}
}

func loop(t *testing.T, dir string) {
	require.NoError(t, os.Symlink("b", filepath.Join(dir, "a")))
	require.NoError(t, os.Symlink("a", filepath.Join(dir, "b")))
}

func nothing(*testing.T, string) {}

// rename makes the two calls that rename a to b, in Node and in Go. (os.Rename looks first, and says EEXIST of any directory.)
func rename(a, b string) (func(string) request, func(string) error) {
	return func(dir string) request {
			return request{Call: "rename", Args: []any{filepath.Join(dir, a), filepath.Join(dir, b)}}
		}, func(dir string) error {
			return syscall.Rename(filepath.Join(dir, a), filepath.Join(dir, b))
		}
}

var (
	overNodeNotEmpty, overGoNotEmpty = rename("dir", "full")
	intoNodeItself, intoGoItself     = rename("dir", filepath.Join("dir", "sub"))
)

func createNew(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err == nil {
		err = f.Close()
	}
	return err
}

func open(path string) error {
	f, err := os.Open(path)
	if err == nil {
		err = f.Close()
	}
	return err
}

var failures = []failing{
	{"create what exists", "EEXIST", files("f"), inNode("open", "f", "wx"), inGo(createNew, "f"), ""},
	{"make a directory that exists", "EEXIST", directories("dir"), inNode("mkdir", "dir"), inGo(func(p string) error { return os.Mkdir(p, 0o777) }, "dir"), ""},
	{"read what is missing", "ENOENT", nothing, inNode("readFile", "f"), inGo(open, "f"), ""},
	{"lock in no directory", "ENOENT", nothing, inNode("lock", "no/f"), inGo(lock, "no/f"), ""},
	{"lock below a file", "ENOTDIR", files("f"), inNode("lock", "f/x"), inGo(lock, "f/x"), ""},
	{"read below a file", "ENOTDIR", files("f"), inNode("readFile", "f/x"), inGo(open, "f/x"), "ENOENT"},
	{"write far below a file", "ENOTDIR", files("f"), inNode("write", "f/x/y", "new", stated), inGo(write, "f/x/y"), "EEXIST"},
	{"write over a directory", "EISDIR", directories("dir"), inNode("write", "dir", "new", stated), inGo(write, "dir"), ""},
	{"read a directory", "EISDIR", directories("dir"), inNode("readFile", "dir"), inGo(func(p string) error {
		_, err := atomicwrite.ReadFile(p)
		return err
	}, "dir"), ""},
	{"remove a directory with something in it", "ENOTEMPTY", directories("full/x"), inNode("rmdir", "full"), inGo(os.Remove, "full"), ""},
	{"rename over such a directory", "ENOTEMPTY", directories("dir", "full/x"), overNodeNotEmpty, overGoNotEmpty, "-"},
	{"rename a directory into itself", "EINVAL", directories("dir"), intoNodeItself, intoGoItself, "-"},
	{"write to too long a name", "ENAMETOOLONG", nothing, inNode("write", strings.Repeat("n", 256), "new", stated), inGo(write, strings.Repeat("n", 256)), ""},
	{"lock too long a name", "ENAMETOOLONG", nothing, inNode("lock", strings.Repeat("n", 251)), inGo(lock, strings.Repeat("n", 251)), "ENOENT"},
	{"read through a loop", "ELOOP", loop, inNode("readFile", "a"), inGo(open, "a"), "-"},
	{"lock below a loop", "ELOOP", loop, inNode("lock", "a/f"), inGo(lock, "a/f"), "-"},
	{"write below a loop", "ELOOP", loop, inNode("write", "a/f", "new", stated), inGo(write, "a/f"), "-"},
	{"write by following a loop", "ELOOP", loop, inNode("writeFile", "a", "new"), inGo(func(p string) error {
		return atomicwrite.WriteFile(p, nil, 0o600, atomicwrite.FollowSymlink())
	}, "a"), "-"},
}

// The codes of Go's errors are those of Node's, for the same calls.
func TestCodeBesideNode(t *testing.T) {
	n := startNode(t)
	for _, f := range failures {
		t.Run(f.name, func(t *testing.T) { f.run(t, n) })
	}
}

func (f failing) run(t *testing.T, n *node) {
	t.Helper()
	dir := t.TempDir()
	f.prepare(t, dir)
	a := n.do(f.node(dir))
	require.NotEmpty(t, a.Message, "Node succeeded")
	err := f.call(dir)
	require.Error(t, err)
	assert.Equal(t, f.want, a.Code, "%s", a.Message)
	assert.Equal(t, f.want, Code(err), "%v", err)
}

// Where the codes differ, both are as the package's table says.
func TestCodesThatDiffer(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Node runs outside")
	}
	n := startNode(t)
	for _, c := range []struct {
		name, node, ours string
		prepare          func(*testing.T, string)
		path             string
	}{
		{"directly below a file", "EEXIST", "ENOTDIR", files("f"), "f/x"},
		{"below a dangling link", "ENOENT", "EEXIST", func(t *testing.T, dir string) {
			require.NoError(t, os.Symlink("nowhere", filepath.Join(dir, "l")))
		}, "l/x"},
		{"far below a dangling link", "ENOTDIR", "EEXIST", func(t *testing.T, dir string) {
			require.NoError(t, os.Symlink("nowhere", filepath.Join(dir, "l")))
		}, "l/x/y"},
		{"a directory's name", "ENOTDIR", "EINVAL", directories("d"), "d/"},
		{"a file's directory", "EEXIST", "EINVAL", files("f"), "f/."},
		{"a loop's directory", "ELOOP", "EINVAL", loop, "a/"},
		{"a missing directory's name", "ENOENT", "EINVAL", nothing, "d/"},
		{"no name", "EBUSY", "EINVAL", nothing, "."},
		{"a NUL byte", "ERR_INVALID_ARG_VALUE", "EINVAL", nothing, "a\x00b"},
		{"a long name", "ENAMETOOLONG", "", nothing, strings.Repeat("n", 239)},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			c.prepare(t, dir)
			path := dir + "/" + c.path
			assert.Equal(t, c.node, n.call("write", path, "new", stated).Code)
			err := write(path)
			assert.Equal(t, c.ours, Code(err), "%v", err)
		})
	}
}

// The same calls where there is no Node beside them.
func TestCode(t *testing.T) {
	for _, f := range failures {
		t.Run(f.name, func(t *testing.T) {
			want := f.want
			if runtime.GOOS == "windows" && f.windows != "" {
				want = f.windows
			}
			if want == "-" {
				t.Skip("not on Windows")
			}
			dir := t.TempDir()
			f.prepare(t, dir)
			err := f.call(dir)
			require.Error(t, err)
			assert.Equal(t, want, Code(err), "%v", err)
		})
	}
}

// status stands for windows.NTStatus, which other systems do not have.
type status struct{}

func (status) Error() string        { return "object name not found" }
func (status) Errno() syscall.Errno { return syscall.ENOENT }

func TestCodeOfErrors(t *testing.T) {
	missing := &fs.PathError{Op: "open", Path: "f", Err: syscall.ENOENT}
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"nil", nil, ""},
		{"plain", errors.New("ENOENT"), ""},
		{"io/fs only", fs.ErrNotExist, ""},
		{"the end of a context", context.DeadlineExceeded, ""},
		{"no error", syscall.Errno(0), ""},
		{"a number", syscall.ENOENT, "ENOENT"},
		{"a status of Windows' native calls", status{}, "ENOENT"},
		{"path", missing, "ENOENT"},
		{"link", &os.LinkError{Op: "rename", Old: "a", New: "b", Err: syscall.EXDEV}, "EXDEV"},
		{"system call", os.NewSyscallError("open", syscall.EMFILE), "EMFILE"},
		{"wrapped", fmt.Errorf("settings: %w", missing), "ENOENT"},
		{"wrapped with others", fmt.Errorf("%w: %w", errors.New("settings"), missing), "ENOENT"},
		{"joined", errors.Join(errors.New("plain"), missing, syscall.EIO), "ENOENT"},
		{"joined without", errors.Join(errors.New("a"), errors.New("b")), ""},
		{"atomicwrite's", &atomicwrite.Error{Op: "write", Err: syscall.ENOSPC}, "ENOSPC"},
		{"atomicwrite's kinds", &atomicwrite.Error{Op: "replace it", Err: atomicwrite.ErrIsDirectory}, "EISDIR"},
		{"atomicwrite's loop", &atomicwrite.Error{Op: "read the link", Err: atomicwrite.ErrLoop}, "ELOOP"},
		{"an irregular file", &atomicwrite.Error{Op: "replace it", Err: atomicwrite.ErrIrregular}, ""},
		{"no file's name", &atomicwrite.Error{Op: "use this path", Err: atomicwrite.ErrInvalidPath}, "EINVAL"},
		{"filelock's", &filelock.Error{Op: "make the lock", Err: syscall.EROFS}, "EROFS"},
		{"held", &filelock.HeldError{Err: syscall.EACCES}, ""},
		{"held, beside another", errors.Join(&filelock.HeldError{Err: syscall.EACCES}, missing), "ENOENT"},
		{"lost", &filelock.LostError{}, ""},
		{"a lock of one's own", filelock.ErrReentrant, ""},
	} {
		t.Run(c.name, func(t *testing.T) { assert.Equal(t, c.want, Code(c.err)) })
	}
}

// Each kind that the other packages know has a code.
func TestCodeOfKinds(t *testing.T) {
	for k := sys.Exists; k <= sys.NoProcess; k++ {
		assert.NotEmpty(t, Code(k), "%v", k)
	}
	assert.Empty(t, Code(sys.Other))
	assert.Len(t, kindCodes, int(sys.NoProcess)+1)
}

// Numbers as Windows has them, whatever system this is: they are libuv's, as read in its table.
func TestWindowsCode(t *testing.T) {
	for number, want := range map[uint32]string{
		2: "ENOENT", 3: "ENOENT", 123: "ENOENT", 267: "ENOENT",
		80: "EEXIST", 183: "EEXIST",
		5: "EPERM", 1314: "EPERM",
		998: "EACCES", 1920: "EACCES",
		32: "EBUSY", 33: "EBUSY",
		1: "EISDIR", 4: "EMFILE", 6: "EBADF", 17: "EXDEV", 19: "EROFS", 39: "ENOSPC", 112: "ENOSPC", 145: "ENOTEMPTY",
		206: "ENAMETOOLONG", 1921: "ELOOP", 87: "EINVAL", 1117: "EIO", 50: "ENOTSUP", 8: "ENOMEM", 995: "ECANCELED",
		10013: "EACCES", 10061: "ECONNREFUSED",
		303: "UNKNOWN", 170: "UNKNOWN", 1295: "UNKNOWN", 99999: "UNKNOWN",
	} {
		assert.Equal(t, want, windowsCode(number), "%d", number)
	}
	seen := map[uint32]string{}
	for _, w := range winerrors {
		for _, n := range w.numbers {
			assert.Empty(t, seen[n], "%d has two codes", n)
			seen[n] = w.code
		}
	}
}
