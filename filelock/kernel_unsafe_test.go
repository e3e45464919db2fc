package filelock

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Everything that is not a regular file with one name, and every way that leaves the root, is refused before a byte is
// written, without blocking and without being taken for a lock that is held.
func TestKernelUnsafePaths(t *testing.T) {
	const content = "somebody's file\n"
	link := func(t *testing.T, to, at string) {
		if err := symlink(to, at); err != nil {
			t.Skip("no links here:", err)
		}
	}
	for name, c := range map[string]struct {
		path  string // below root; "" is run.lock
		make  func(t *testing.T, root, victim string)
		found string
		alone bool // refused without a root too
	}{
		"a link": {make: func(t *testing.T, root, victim string) { link(t, victim, filepath.Join(root, "run.lock")) },
			found: "it is a symbolic link", alone: true},
		"a link inside": {make: func(t *testing.T, root, _ string) {
			write(t, filepath.Join(root, "other"), nil)
			link(t, "other", filepath.Join(root, "run.lock"))
		}, found: "it is a symbolic link", alone: true},
		"a dangling link": {make: func(t *testing.T, root, victim string) { link(t, victim+".new", filepath.Join(root, "run.lock")) },
			found: "it is a symbolic link", alone: true},
		"a second name": {make: func(t *testing.T, root, victim string) {
			require.NoError(t, os.Link(victim, filepath.Join(root, "run.lock")))
		}, found: "it has 2 names: a write would change what the others are for", alone: true},
		"a directory": {make: func(t *testing.T, root, _ string) {
			require.NoError(t, os.Mkdir(filepath.Join(root, "run.lock"), 0o700))
		}, found: "it is a directory", alone: true},
		"a FIFO": {make: func(t *testing.T, root, _ string) {
			if err := makeFIFO(t, filepath.Join(root, "run.lock")); err != nil {
				t.Skip("no FIFOs here:", err)
			}
		},
			found: "it is a FIFO", alone: true},
		"a socket": {make: func(t *testing.T, root, _ string) {
			if runtime.GOOS == "windows" {
				t.Skip("no sockets in the file system")
			}
			t.Chdir(root) // the name of a socket must be short
			l, err := net.Listen("unix", "run.lock")
			require.NoError(t, err)
			t.Cleanup(func() { l.Close() })
		}, found: "it is a socket", alone: true},
		"a link on the way": {path: "sub/run.lock", make: func(t *testing.T, root, victim string) {
			link(t, filepath.Dir(victim), filepath.Join(root, "sub"))
		}, found: "sub is a symbolic link"},
		"a link on the way that stays inside": {path: "sub/deep/run.lock", make: func(t *testing.T, root, _ string) {
			require.NoError(t, os.MkdirAll(filepath.Join(root, "real", "deep"), 0o700))
			link(t, "real", filepath.Join(root, "sub"))
		}, found: "sub is a symbolic link"},
		"a link up": {path: "a/up/victim", make: func(t *testing.T, root, _ string) {
			require.NoError(t, os.Mkdir(filepath.Join(root, "a"), 0o700))
			link(t, filepath.Join("..", ".."), filepath.Join(root, "a", "up"))
		}, found: "up is a symbolic link"},
		"a file on the way": {path: "sub/run.lock", make: func(t *testing.T, root, _ string) {
			write(t, filepath.Join(root, "sub"), []byte(content))
		}, found: "sub is a file"},
		"up and out":         {path: "../victim", found: "it leaves "},
		"in, up and out":     {path: "sub/../../victim", found: "it leaves "},
		"an absolute path":   {path: "VICTIM", found: "it leaves "},
		"the root's sibling": {path: "../root2/victim", found: "it leaves "},
	} {
		t.Run(name, func(t *testing.T) {
			top := t.TempDir()
			root, victim := filepath.Join(top, "root"), filepath.Join(top, "victim")
			require.NoError(t, os.Mkdir(root, 0o700))
			write(t, victim, []byte(content))
			if c.make != nil {
				c.make(t, root, victim)
			}
			path := filepath.FromSlash(c.path)
			switch c.path {
			case "":
				path = "run.lock"
			case "VICTIM":
				path = victim
			}
			before := tree(t, top)
			lockers := []Locker{KernelAt(root, path, Wait(Forever)), KernelAt(root, path, Wait(0), Shared())}
			if c.alone {
				lockers = append(lockers, Kernel(filepath.Join(root, path), Wait(Forever)))
			}
			for _, l := range lockers {
				began := time.Now()
				_, err := l.Acquire(context.Background())
				var unsafe *UnsafePathError
				require.ErrorAs(t, err, &unsafe)
				assert.ErrorIs(t, err, ErrUnsafePath)
				assert.NotErrorIs(t, err, ErrUnavailable)
				assert.Contains(t, unsafe.Found, c.found)
				assert.Contains(t, unsafe.Path, filepath.Base(path))
				assert.Less(t, time.Since(began), 10*time.Second)
			}
			assert.Equal(t, before, tree(t, top), "nothing came, went or changed")
		})
	}
}

// tree are all names below top with what they are and contain.
func tree(t *testing.T, top string) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(top, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		all[path] = d.Type().String()
		if d.Type().IsRegular() {
			all[path] += read(t, path)
		}
		return nil
	}))
	return all
}

// A root and the directory of a path that stands alone are the caller's: links in them are followed.
func TestKernelFollowsTheCallersLinks(t *testing.T) {
	top := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(top, "real", "sub"), 0o700))
	if err := symlink("real", filepath.Join(top, "link")); err != nil {
		t.Skip("no links here:", err)
	}
	l, err := KernelAt(filepath.Join(top, "link"), filepath.Join("sub", "run.lock")).TryAcquire(context.Background())
	require.NoError(t, err)
	assert.ErrorIs(t, refusedKernel(t, filepath.Join(top, "link", "sub", "run.lock")), ErrHeld)
	assert.ErrorIs(t, refusedKernel(t, filepath.Join(top, "real", "sub", "run.lock")), ErrHeld)
	require.NoError(t, l.(*KernelLease).Check())
	require.NoError(t, l.Release())
	assert.NoError(t, mustKernel(t, filepath.Join(top, "link", "..", "run.lock")).Check())
	assert.FileExists(t, filepath.Join(top, "run.lock"))
}

// What ".." behind a link means is the file system's to say, in a root as in a path that stands alone.
func TestKernelUpBehindALink(t *testing.T) {
	top := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(top, "real", "sub"), 0o700))
	if err := symlink(filepath.Join("real", "sub"), filepath.Join(top, "link")); err != nil {
		t.Skip("no links here:", err)
	}
	up := filepath.Join(top, "link") + string(filepath.Separator) + ".."
	for _, root := range []string{up, up + "/"} {
		l, err := KernelAt(root, "run.lock").TryAcquire(context.Background())
		require.NoError(t, err)
		require.NoError(t, l.(*KernelLease).Check())
		assert.ErrorIs(t, refusedKernel(t, up+string(filepath.Separator)+"run.lock"), ErrHeld)
		require.NoError(t, l.Release())
	}
	if runtime.GOOS != "windows" { // where it is taken away before the file system sees it
		assert.FileExists(t, filepath.Join(top, "real", "run.lock"))
		require.NoError(t, symlink("sub", filepath.Join(top, "real", "way")))
		_, err := KernelAt(up, filepath.Join("way", "run.lock")).TryAcquire(context.Background())
		assert.ErrorIs(t, err, ErrUnsafePath)
		assert.ErrorContains(t, err, "way is a symbolic link")
	}
}

func TestKernelBelowDirectories(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(root, "a", "b"), 0o700))
	path := filepath.Join(root, "a", "b", "run.lock")
	l, err := KernelAt(root, filepath.Join("a", "b", "run.lock")).TryAcquire(context.Background())
	require.NoError(t, err)
	assert.Equal(t, path, l.(*KernelLease).Path())
	assert.ErrorIs(t, refusedKernel(t, path), ErrHeld)
	require.NoError(t, l.(*KernelLease).Check())
	require.NoError(t, l.Release())
	_, err = KernelAt(root, filepath.Join("a", "missing", "run.lock")).TryAcquire(context.Background())
	assert.ErrorIs(t, err, os.ErrNotExist)
	assert.ErrorContains(t, err, "cannot find the directory of the lock file")
	assert.Equal(t, []string{"run.lock"}, entries(t, path))
}

func TestKernelPathsThatNameNoFile(t *testing.T) {
	ctx := context.Background()
	for _, path := range []string{"", ".", "..", "sub/", "a\x00b"} {
		_, err := Kernel(path).Acquire(ctx)
		assert.ErrorIs(t, err, ErrInvalidPath, "%q", path)
		_, err = KernelAt(t.TempDir(), path).Acquire(ctx)
		assert.ErrorIs(t, err, ErrInvalidPath, "%q", path)
		_, err = Instance(path)
		assert.ErrorIs(t, err, ErrInvalidPath, "%q", path)
	}
	for _, root := range []string{"", "a\x00b"} {
		_, err := KernelAt(root, "run.lock").Acquire(ctx)
		assert.ErrorIs(t, err, ErrInvalidPath, "%q", root)
	}
	_, err := KernelAt(filepath.Join(t.TempDir(), "missing"), "run.lock").Acquire(ctx)
	var failed *Error
	assert.True(t, errors.As(err, &failed) && errors.Is(err, os.ErrNotExist), "%v", err)
}
