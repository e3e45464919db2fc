package compat

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/holdfast-go/holdfast/internal/testenv"
)

const nobody = 65534

// mount mounts until the test ends.
func mount(t *testing.T, source, at, kind string, flags uintptr, options string) {
	t.Helper()
	testenv.Root(t)
	if err := unix.Mount(source, at, kind, flags, options); err != nil {
		t.Skipf("root may not mount here: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, unix.Unmount(at, unix.MNT_DETACH)) })
}

func fullDisk(t *testing.T, dir string) {
	mount(t, "none", dir, "tmpfs", 0, "size=8k")
	require.Error(t, os.WriteFile(filepath.Join(dir, "filler"), make([]byte, 64<<10), 0o600))
}

func readOnly(t *testing.T, dir string) {
	mount(t, "none", dir, "tmpfs", 0, "size=64k")
	require.NoError(t, unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
}

func bindMount(t *testing.T, dir string) {
	files("f", "other")(t, dir)
	mount(t, filepath.Join(dir, "other"), filepath.Join(dir, "f"), "", unix.MS_BIND, "")
}

func otherDevice(t *testing.T, dir string) {
	directories("other")(t, dir)
	files("f")(t, dir)
	mount(t, "none", filepath.Join(dir, "other"), "tmpfs", 0, "size=64k")
}

// reachable lets other users look into the directories of this test's.
func reachable(t *testing.T, dir string, mode fs.FileMode) {
	t.Helper()
	testenv.Root(t)
	for d := filepath.Dir(dir); d != filepath.Clean(os.TempDir()) && d != "/"; d = filepath.Dir(d) {
		require.NoError(t, os.Chmod(d, 0o755))
	}
	require.NoError(t, os.Chmod(dir, mode))
}

func foreign(t *testing.T, dir string) { reachable(t, dir, 0o755) }

func sticky(t *testing.T, dir string) {
	files("f")(t, dir)
	reachable(t, dir, 0o777|fs.ModeSticky)
}

// asNobody makes both calls with another user's rights.
func asNobody(f failing) failing {
	asRoot := f
	f.node = func(dir string) request {
		r := asRoot.node(dir)
		r.UID = nobody
		return r
	}
	f.call = func(dir string) (err error) {
		unprivileged(func() { err = asRoot.call(dir) })
		return err
	}
	return f
}

// unprivileged has the file system judge do's calls, which stay on one thread, by another user's rights.
func unprivileged(do func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, _ := unix.SetfsuidRetUid(nobody)
	defer unix.SetfsuidRetUid(before)
	do()
}

func TestCodeBesideNodeOnLinux(t *testing.T) {
	n := startNode(t)
	overNodeDevice, overGoDevice := rename("f", "other/f")
	for _, f := range []failing{
		{"write to a full disk", "ENOSPC", fullDisk, inNode("write", "f", "new", stated), inGo(write, "f"), ""},
		{"lock on a full disk", "ENOSPC", fullDisk, inNode("lock", "f"), inGo(lock, "g"), ""},
		{"write to a read-only disk", "EROFS", readOnly, inNode("write", "f", "new", stated), inGo(write, "f"), ""},
		{"make a directory on a read-only disk", "EROFS", readOnly, inNode("mkdir", "d"), inGo(write, "d/f"), ""},
		{"lock on a read-only disk", "EROFS", readOnly, inNode("lock", "f"), inGo(lock, "f"), ""},
		{"write over a mount point", "EBUSY", bindMount, inNode("write", "f", "new", stated), inGo(write, "f"), ""},
		{"rename to another disk", "EXDEV", otherDevice, overNodeDevice, overGoDevice, ""},
		asNobody(failing{"write into another user's directory", "EACCES", foreign, inNode("write", "f", "new", stated), inGo(write, "f"), ""}),
		asNobody(failing{"make a directory in one", "EACCES", foreign, inNode("write", "d/f", "new", stated), inGo(write, "d/f"), ""}),
		asNobody(failing{"lock in one", "EACCES", foreign, inNode("lock", "f"), inGo(lock, "f"), ""}),
		asNobody(failing{"write over another user's file", "EPERM", sticky, inNode("write", "f", "new", stated), inGo(write, "f"), ""}),
		{"signal nobody", "ESRCH", nothing, func(string) request { return request{Call: "kill", Args: []any{nobodysPID}} },
			func(string) error { return syscall.Kill(nobodysPID, 0) }, ""},
	} {
		t.Run(f.name, func(t *testing.T) { f.run(t, n) })
	}
}

// nobodysPID is a process number that Linux never gives.
const nobodysPID = 1<<31 - 1

// Each number that libuv has a name for has that name here, or none.
func TestCodeOfEveryNumber(t *testing.T) {
	libuv, _ := startNode(t).call("names").Value.(map[string]any)
	require.NotEmpty(t, libuv)
	unnamed := map[string]bool{"ENONET": true, "EUNATCH": true, "EREMOTEIO": true, "ENODATA": true}
	for number := 1; number < 200; number++ {
		want, _ := libuv[strconv.Itoa(number)].(string)
		if want == "" || unnamed[want] {
			want = "UNKNOWN"
		}
		assert.Equal(t, want, Code(syscall.Errno(number)), "%d", number)
	}
}

func init() {
	modes = append(modes, stating{fs.ModeSticky | 0o755, 0o1755, -1}) // which other systems may refuse to others than root

	// exhaust FILE: opens a file until that fails, and says what then fails here.
	children["exhaust"] = func(args []string) string {
		for {
			if _, err := os.Open(args[0]); err != nil {
				return Code(err) + " " + Code(write(args[0])) + " " + Code(lock(args[0]))
			}
		}
	}
}

// limited runs a command with room for few open files.
func limited(cmd *exec.Cmd) *exec.Cmd {
	c := exec.Command("sh", append([]string{"-c", `ulimit -n 64 && exec "$@"`, "sh"}, cmd.Args...)...)
	c.Env = cmd.Env
	return c
}

func TestCodeOfTooManyFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	put(t, path, "old")
	cmd := exec.Command(os.Args[0], path)
	cmd.Env = append(os.Environ(), childEnv+"=exhaust")
	out, err := limited(cmd).Output()
	require.NoError(t, err)
	assert.Equal(t, "EMFILE EMFILE EMFILE", string(out))

	n := startNodeAs(t, limited(exec.Command("node", filepath.Join(testenv.Node(t), "errors.mjs"))))
	assert.Equal(t, "EMFILE", n.call("exhaust", path).Code)
}

func TestRowParentsOnReadOnly(t *testing.T) {
	n := startNode(t)
	dir := t.TempDir()
	readOnly(t, dir)
	assert.Equal(t, "ENOENT", n.call("write", filepath.Join(dir, "d", "f"), "new", stated).Code)
	assert.Equal(t, "EROFS", Code(write(filepath.Join(dir, "d", "f"))))
}

// What a full disk leaves of a lock.
func TestRowFullDisk(t *testing.T) {
	n := startNode(t)
	dir := t.TempDir()
	fullDisk(t, dir)
	require.Equal(t, "ENOSPC", Code(lock(filepath.Join(dir, "ours"))))
	require.Equal(t, "ENOSPC", Code(write(filepath.Join(dir, "ours"))))
	assert.Equal(t, []string{"filler"}, names(t, dir))
	require.Equal(t, "ENOSPC", n.call("lock", filepath.Join(dir, "nodes")).Code)
	assert.Equal(t, []string{"filler", "nodes.lock"}, names(t, dir), "Node leaves an empty lock")
	assert.Empty(t, contentOf(t, filepath.Join(dir, "nodes.lock")))
}

// A directory that may be written but not read cannot be synced.
func TestNothingIsSynced(t *testing.T) {
	dir := t.TempDir()
	reachable(t, dir, 0o733)
	path := filepath.Join(dir, "f")
	unprivileged(func() { require.NoError(t, write(path)) })
	assert.Equal(t, "new", contentOf(t, path))
	a := startNode(t).do(request{Call: "write", Args: []any{path + "2", "new", stated}, UID: nobody})
	assert.Equal(t, answer{}, a)
}
