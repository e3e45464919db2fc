//go:build unix

package compat

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/holdfast-go/holdfast/atomicwrite"
	"github.com/holdfast-go/holdfast/filelock"
)

// Each test here is a row of the package's table: what the released Node package does, and what happens here.

func TestRowLostLock(t *testing.T) {
	n := startNode(t)
	path := target(t)
	stranger := fmt.Sprintf("%d\n", os.Getppid())
	assert.Equal(t, answer{}, n.call("loseLock", path, stranger), "Node says nothing")
	assert.Empty(t, names(t, filepath.Dir(path)), "and removes the stranger's lock")

	value, err := WithFileLock(t.Context(), path, func(context.Context) (string, error) {
		require.NoError(t, os.Remove(path+".lock"))
		put(t, path+".lock", stranger)
		return "done", nil
	}, FileLockOptions{})
	require.ErrorIs(t, err, filelock.ErrLost)
	assert.Equal(t, "done", value)
	assert.Equal(t, stranger, contentOf(t, path+".lock"))
}

func TestRowTwoErrors(t *testing.T) {
	n := startNode(t)
	a := n.call("failTwice", target(t))
	assert.Equal(t, "ERR_FS_EISDIR", a.Code, "the release's error replaces the operation's")

	path := target(t)
	own := errors.New("the operation failed")
	_, err := WithFileLock(t.Context(), path, func(context.Context) (int, error) {
		require.NoError(t, os.Remove(path+".lock"))
		require.NoError(t, os.Mkdir(path+".lock", 0o755))
		return 0, own
	}, FileLockOptions{})
	require.ErrorIs(t, err, own)
	require.ErrorIs(t, err, filelock.ErrLost)
}

// deadRecord is the record of a process that has ended.
func deadRecord(t *testing.T) string {
	t.Helper()
	cmd := exec.Command("true")
	require.NoError(t, cmd.Run())
	return fmt.Sprintf("%d\n", cmd.Process.Pid)
}

func TestRowDeadHolder(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	path := target(t)
	dead := deadRecord(t)
	put(t, path+".lock", dead)
	assert.Contains(t, n.call("lock", path).Message, "timed out", "rc.8 waits")
	assert.Equal(t, "ran", n.call("later", path, 0).Value, "the later protocol takes over")
	put(t, path+".lock", dead)
	require.NoError(t, lock(path))
}

func TestRowDeadClaimant(t *testing.T) {
	n := startNode(t)
	path := target(t)
	dead := deadRecord(t)
	put(t, path+".lock", dead)
	put(t, fmt.Sprintf("%s.lock.takeover-%.16s", path, fmt.Sprintf("%x", sha256.Sum256([]byte(dead)))), dead)
	assert.Contains(t, n.call("later", path, 0).Message, "timed out", "the later protocol waits")
	require.NoError(t, lock(path))
	assert.Empty(t, names(t, filepath.Dir(path)))
}

func TestRowNested(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	path := target(t)
	assert.Contains(t, n.call("nest", path).Message, "timed out")
	_, err := WithFileLock(t.Context(), path, func(ctx context.Context) (int, error) {
		return WithFileLock(ctx, path, notRun(t), FileLockOptions{})
	}, FileLockOptions{})
	require.ErrorIs(t, err, filelock.ErrReentrant)
	assert.NotErrorIs(t, err, filelock.ErrUnavailable)
}

// An empty directory is a live lock of another Node package.
func TestRowDirectoryAtTheLock(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	path := target(t)
	require.NoError(t, os.Mkdir(path+".lock", 0o755))
	_, err := WithFileLock(t.Context(), path, notRun(t), FileLockOptions{WaitMs: new(0)})
	require.ErrorIs(t, err, filelock.ErrHeld)
	assert.Equal(t, n.call("lock", path).Message, err.Error())
	assert.Equal(t, []string{"settings.json.lock"}, names(t, filepath.Dir(path)))
}

func TestRowLockOfNoFile(t *testing.T) {
	n := startNode(t)
	dir := t.TempDir() + "/"
	assert.Equal(t, answer{Value: float64(0o600)}, n.call("lock", dir))
	require.ErrorIs(t, lock(dir), filelock.ErrInvalidPath)
}

func TestRowParentsOfNoFile(t *testing.T) {
	dir := t.TempDir()
	require.ErrorIs(t, write(dir+"/d/.."), atomicwrite.ErrInvalidPath)
	assert.Empty(t, names(t, dir))
	assert.Equal(t, "EBUSY", startNode(t).call("write", dir+"/d/..", "new", stated).Code)
	assert.Equal(t, []string{"d"}, names(t, dir), "Node has made it")
}

func TestRowFIFO(t *testing.T) {
	n := startNode(t)
	path := target(t)
	require.NoError(t, unix.Mkfifo(path, 0o600))
	require.ErrorIs(t, write(path), atomicwrite.ErrIrregular)
	assert.Empty(t, Code(write(path)))
	assert.Equal(t, answer{}, n.call("write", path, "new", stated))
	info, err := os.Lstat(path)
	require.NoError(t, err)
	assert.True(t, info.Mode().IsRegular(), "Node replaces it")
}

func init() {
	// lockmode FILE UMASK: the mode of the lock file under that umask.
	children["lockmode"] = func(args []string) string {
		mask, _ := strconv.ParseInt(args[1], 8, 32)
		syscall.Umask(int(mask))
		mode, err := WithFileLock(context.Background(), args[0], func(context.Context) (fs.FileMode, error) {
			info, err := os.Lstat(args[0] + ".lock")
			if err != nil {
				return 0, err
			}
			return info.Mode(), nil
		}, FileLockOptions{})
		return fmt.Sprintf("%o %v", mode, err)
	}
	// write DIR UMASK: a file for each of modes below DIR, under that umask.
	children["write"] = func(args []string) string {
		mask, _ := strconv.ParseInt(args[1], 8, 32)
		syscall.Umask(int(mask))
		for n, m := range modes {
			options := WriteFileAtomicOptions{Mode: m.mode}
			if m.dir >= 0 {
				options.DirMode = new(fs.FileMode(m.dir))
			}
			if err := WriteFileAtomic(m.path(args[0], n), nil, options); err != nil {
				return err.Error()
			}
		}
		return ""
	}
}

// child is what a process of this binary prints.
func child(t *testing.T, what string, args ...string) string {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), childEnv+"="+what)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	return string(out)
}

func TestRowLockMode(t *testing.T) {
	n := startNode(t)
	path := target(t)
	for _, umask := range []int{0o022, 0o077} {
		assert.Equal(t, float64(0o600), n.do(request{Call: "lock", Args: []any{path}, Umask: &umask}).Value)
		assert.Equal(t, "600 <nil>", child(t, "lockmode", path, fmt.Sprintf("%o", umask)))
	}
	strange := 0o277
	assert.Equal(t, float64(0o400), n.do(request{Call: "lock", Args: []any{path}, Umask: &strange}).Value, "less umask")
	assert.Equal(t, "600 <nil>", child(t, "lockmode", path, "277"), "exactly")
}

// stating is what a call states: the file's mode, as Go and as Node say it, and the directories', -1 for none.
type stating struct {
	mode fs.FileMode
	node int
	dir  int
}

var modes = []stating{
	{0o600, 0o600, -1},
	{0o600, 0o600, 0o700},
	{0o644, 0o644, 0o755},
	{0o666, 0o666, 0o777},
	{0o755, 0o755, 0o750},
	{0o777, 0o777, -1},
	{0o400, 0o400, -1},
	{0, 0, -1},
	{0o1755, 0o755, -1},
}

func (s stating) path(dir string, n int) string {
	return filepath.Join(dir, strconv.Itoa(n), "sub", "file")
}

func TestModesBesideNode(t *testing.T) {
	n := startNode(t)
	for _, umask := range []int{0o022, 0o077} {
		inNode, inGo := t.TempDir(), t.TempDir()
		for k, m := range modes {
			options := map[string]int{"mode": m.node}
			if m.dir >= 0 {
				options["dirMode"] = m.dir
			}
			a := n.do(request{Call: "write", Args: []any{m.path(inNode, k), "", options}, Umask: &umask})
			assert.Equal(t, answer{}, a)
		}
		assert.Empty(t, child(t, "write", inGo, fmt.Sprintf("%o", umask)))
		assert.Equal(t, tree(t, inNode), tree(t, inGo), "umask %o", umask)
		assert.Contains(t, tree(t, inGo), "5/sub/file")
	}
}

// An older file's mode counts for nothing, an older directory keeps its own, and a link is replaced.
func TestOlderModesBesideNode(t *testing.T) {
	n := startNode(t)
	inNode, inGo := t.TempDir(), t.TempDir()
	for _, dir := range []string{inNode, inGo} {
		put(t, filepath.Join(dir, "file"), "old")
		require.NoError(t, os.Chmod(filepath.Join(dir, "file"), 0o666))
		require.NoError(t, os.Mkdir(filepath.Join(dir, "sub"), 0o711))
		require.NoError(t, os.Symlink("file", filepath.Join(dir, "link")))
	}
	options := map[string]int{"mode": 0o600, "dirMode": 0o700}
	for _, name := range []string{"link", "sub/file", "file"} {
		assert.Equal(t, answer{}, n.call("write", filepath.Join(inNode, name), "new", options))
		require.NoError(t, WriteFileAtomic(filepath.Join(inGo, name), []byte("new"), WriteFileAtomicOptions{Mode: 0o600, DirMode: new(fs.FileMode(0o700))}))
		for _, dir := range []string{inNode, inGo} {
			if name == "link" {
				assert.Equal(t, "old", contentOf(t, filepath.Join(dir, "file")))
			}
		}
	}
	assert.Equal(t, tree(t, inNode), tree(t, inGo))
}

// tree is the modes of all below dir.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Lstat(path)
		found[strings.TrimPrefix(path, dir+"/")] = info.Mode().String()
		return err
	}))
	delete(found, dir)
	return found
}
