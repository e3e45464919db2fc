package atomicwrite

import (
	"encoding/binary"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/holdfast-go/holdfast/internal/testenv"
)

// mount mounts and unmounts at the end of the test.
func mount(t *testing.T, source, target, fstype string, flags uintptr, data string) {
	t.Helper()
	testenv.Root(t)
	if err := unix.Mount(source, target, fstype, flags, data); err == unix.EPERM || err == unix.ENOSYS {
		t.Skip("root may not mount here")
	} else {
		require.NoError(t, err)
	}
	t.Cleanup(func() { require.NoError(t, unix.Unmount(target, unix.MNT_DETACH)) })
}

func fullDisk(t *testing.T) {
	dir := t.TempDir()
	mount(t, "tmpfs", dir, "tmpfs", 0, "size=8k")
	path := filepath.Join(dir, "file")
	require.NoError(t, WriteFile(path, []byte(oldContent), 0o600))

	err := WriteFile(path, make([]byte, 16<<10), 0o600)
	require.ErrorIs(t, err, ErrNoSpace)
	require.ErrorIs(t, err, syscall.ENOSPC)
	assert.Contains(t, err.Error(), "no space left on device")
	assert.Equal(t, oldContent, contentOf(t, path))
	assert.Equal(t, []string{"file"}, names(t, dir))

	w, err := Create(path, 0o600)
	require.NoError(t, err)
	_, err = w.Write(make([]byte, 16<<10))
	require.ErrorIs(t, err, ErrNoSpace)
	assert.Equal(t, []string{"file"}, names(t, dir))
	require.ErrorIs(t, w.Commit(), ErrNoSpace)
	require.NoError(t, w.Close())

	require.NoError(t, WriteFile(path, []byte(newContent), 0o600))
	assert.Equal(t, newContent, contentOf(t, path))
}

func bindMount(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "file"), filepath.Join(dir, "other")
	put(t, path, oldContent, 0o600)
	put(t, other, "mounted", 0o600)
	mount(t, other, path, "", unix.MS_BIND, "")

	m := newMachine()
	err := writeFile(m, path, []byte(newContent), 0o600, newOptions(nil))
	require.ErrorIs(t, err, ErrBusy)
	require.ErrorIs(t, err, syscall.EBUSY)
	assert.Contains(t, err.Error(), "mount its directory instead")
	assert.Equal(t, 1, m.count("replace"), "no retries")
	assert.Empty(t, m.paused)
	assert.Equal(t, "mounted", contentOf(t, path))
	assert.Equal(t, []string{"file", "other"}, names(t, dir))
}

func init() {
	children["write often"] = func(args []string) error {
		if os.Getpid() != 1 {
			return fmt.Errorf("pid %d in a namespace of its own", os.Getpid())
		}
		for n := range 300 {
			data := strings.Repeat(args[1], 5000+n)
			if err := WriteFile(args[0], []byte(data), 0o600, Sync(SyncNone)); err != nil {
				return err
			}
		}
		return nil
	}
}

func samePID(t *testing.T) {
	testenv.Root(t)
	path := filepath.Join(t.TempDir(), "file")
	put(t, path, "a", 0o600)
	done := make(chan error, 2)
	for _, letter := range []string{"a", "b"} {
		cmd := child(t, "write often", path, letter)
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			require.ErrorIs(t, err, syscall.EPERM)
			t.Skip("root may not make pid namespaces here")
		}
		go func() { done <- cmd.Wait() }()
	}
	reads := 0
	for ended := 0; ended < 2; {
		select {
		case err := <-done:
			require.NoError(t, err)
			ended++
		default:
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NotEmpty(t, data)
			require.Equal(t, len(data), strings.Count(string(data), string(data[:1])), "torn")
			reads++
		}
	}
	assert.Greater(t, reads, 10)
	assert.Equal(t, []string{"file"}, names(t, filepath.Dir(path)))
}

func inheritance(t *testing.T) {
	t.Run("group", func(t *testing.T) {
		testenv.Root(t)
		dir := t.TempDir()
		const group = 54321
		require.NoError(t, os.Chown(dir, -1, group))
		require.NoError(t, os.Chmod(dir, 0o755|fs.ModeSetgid))
		path := filepath.Join(dir, "file")
		require.NoError(t, WriteFile(path, []byte(newContent), 0o640))
		var st syscall.Stat_t
		require.NoError(t, syscall.Stat(path, &st))
		assert.Equal(t, uint32(group), st.Gid)
	})
	t.Run("default ACL", func(t *testing.T) {
		dir := t.TempDir()
		if err := unix.Setxattr(dir, "system.posix_acl_default", defaultACL(), 0); err != nil {
			t.Skipf("no access lists here: %v", err)
		}
		for _, opts := range [][]Option{nil, {ExactMode()}} {
			path := filepath.Join(dir, "file")
			require.NoError(t, WriteFile(path, []byte(newContent), 0o660, opts...))
			buf := make([]byte, 256)
			n, err := unix.Getxattr(path, "system.posix_acl_access", buf)
			require.NoError(t, err)
			assert.True(t, slices.Contains(entries(buf[:n]), entry{aclUser, 6, 12345}), "%v", entries(buf[:n]))
			assert.True(t, slices.Contains(entries(buf[:n]), entry{aclMask, 6, none}), "%v", entries(buf[:n]))
		}
	})
}

// The form of an access list in its attribute: a version, then tag, permissions and id of each entry.
const (
	aclUserObj, aclUser, aclGroupObj, aclMask, aclOther = 0x01, 0x02, 0x04, 0x10, 0x20

	none = 0xffffffff
)

type entry struct {
	tag, perm uint16
	id        uint32
}

func defaultACL() []byte {
	list := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range []entry{{aclUserObj, 7, none}, {aclUser, 6, 12345}, {aclGroupObj, 4, none}, {aclMask, 6, none}, {aclOther, 0, none}} {
		list = binary.LittleEndian.AppendUint16(list, e.tag)
		list = binary.LittleEndian.AppendUint16(list, e.perm)
		list = binary.LittleEndian.AppendUint32(list, e.id)
	}
	return list
}

func entries(list []byte) (found []entry) {
	for list = list[4:]; len(list) >= 8; list = list[8:] {
		found = append(found, entry{
			binary.LittleEndian.Uint16(list), binary.LittleEndian.Uint16(list[2:]), binary.LittleEndian.Uint32(list[4:]),
		})
	}
	return found
}

// foreignDirectory looks at the file system as another user: the calls of one thread are judged by that user's rights.
func foreignDirectory(t *testing.T) {
	testenv.Root(t)
	dir := shortDir(t)
	path := filepath.Join(dir, "file")
	put(t, path, oldContent, 0o666)
	require.NoError(t, os.Chmod(dir, 0o755))

	m := newMachine()
	var err error
	asNobody(t, func() { err = writeFile(m, path, []byte(newContent), 0o600, newOptions(nil)) })
	require.ErrorIs(t, err, fs.ErrPermission)
	require.ErrorIs(t, err, syscall.EACCES)
	assert.Contains(t, err.Error(), "create a temporary file in the directory "+dir)
	assert.Contains(t, err.Error(), "needs write permission on that directory")
	assert.Equal(t, 1, m.count("createNew"), "no retries")
	assert.Empty(t, m.paused)

	require.NoError(t, os.Chmod(dir, 0o777|fs.ModeSticky))
	asNobody(t, func() { err = writeFile(m, path, []byte(newContent), 0o600, newOptions(nil)) })
	require.ErrorIs(t, err, syscall.EPERM)
	assert.Contains(t, err.Error(), "a sticky directory lets only the file's owner replace it")
	assert.Empty(t, m.paused)

	asNobody(t, func() { err = writeFile(m, filepath.Join(dir, "sub", "file"), nil, 0o600, newOptions(nil)) })
	require.NoError(t, err)
	require.NoError(t, os.Chown(dir, 1, 1))
	require.NoError(t, os.Chmod(dir, 0o755))
	asNobody(t, func() { err = writeFile(m, filepath.Join(dir, "new", "file"), nil, 0o600, newOptions(nil)) })
	require.ErrorIs(t, err, syscall.EACCES)
	assert.Contains(t, err.Error(), "make the directory "+filepath.Join(dir, "new")+": permission denied")

	assert.Equal(t, oldContent, contentOf(t, path))
	assert.Equal(t, []string{"file", "sub"}, names(t, dir))
}

func asNobody(t *testing.T, do func()) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const nobody = 65534
	_, err := unix.SetfsuidRetUid(nobody)
	require.NoError(t, err)
	defer func() {
		_, err := unix.SetfsuidRetUid(0)
		require.NoError(t, err)
	}()
	do()
}

func TestWritesAreNotTooLarge(t *testing.T) {
	m := newMachine()
	m.fail = func(op string, _ int) error {
		if op == "write" {
			return injected
		}
		return nil
	}
	data, err := unix.Mmap(-1, 0, 1<<30+1, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	require.NoError(t, err)
	defer func() { require.NoError(t, unix.Munmap(data)) }()
	require.ErrorIs(t, writeFile(m, filepath.Join(t.TempDir(), "file"), data, 0o600, newOptions(nil)), injected)
	assert.Equal(t, 1<<30, m.largest)
}
