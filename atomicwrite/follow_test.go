package atomicwrite

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/sys"
)

func link(t *testing.T, target, path string) {
	t.Helper()
	require.NoError(t, os.Symlink(target, path))
}

func links(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege on Windows")
	}
	const ref = "there/referent"
	for _, c := range []struct {
		name    string
		prepare func(t *testing.T, dir string)
		opts    []Option
		want    error             // nil: written
		written string            // where the new content is
		links   map[string]string // what stays a link, and to where
		absent  string
	}{
		{
			name: "followed", prepare: func(t *testing.T, dir string) { link(t, ref, dir+"/file") },
			opts: []Option{FollowSymlink()}, written: ref, links: map[string]string{"file": ref},
		},
		{
			name: "followed, absolute", prepare: func(t *testing.T, dir string) { link(t, dir+"/"+ref, dir+"/file") },
			opts: []Option{FollowSymlink()}, written: ref,
		},
		{
			name: "a chain, each relative to where it lies",
			prepare: func(t *testing.T, dir string) {
				link(t, "there/second", dir+"/file")
				link(t, "../there/referent", dir+"/there/second")
			},
			opts: []Option{FollowSymlink()}, written: ref,
			links: map[string]string{"file": "there/second", "there/second": "../there/referent"},
		},
		{
			name: "up from a directory that is itself a link",
			prepare: func(t *testing.T, dir string) {
				require.NoError(t, os.MkdirAll(dir+"/a/b", 0o755))
				link(t, "a/b", dir+"/short")
				link(t, "../made", dir+"/a/b/up")
				link(t, "short/up", dir+"/file")
			},
			opts: []Option{FollowSymlink()}, written: "a/made",
		},
		{
			name: "dangling, followed", prepare: func(t *testing.T, dir string) { link(t, "there/none", dir+"/file") },
			opts: []Option{FollowSymlink()}, written: "there/none", links: map[string]string{"file": "there/none"},
		},
		{
			name: "dangling into no directory", prepare: func(t *testing.T, dir string) { link(t, "no/none", dir+"/file") },
			opts: []Option{FollowSymlink()}, want: fs.ErrNotExist, links: map[string]string{"file": "no/none"}, absent: "no",
		},
		{
			name: "loop, followed", prepare: func(t *testing.T, dir string) { link(t, "file", dir+"/file") },
			opts: []Option{FollowSymlink()}, want: ErrLoop, links: map[string]string{"file": "file"},
		},
		{
			name: "to a directory", prepare: func(t *testing.T, dir string) { link(t, "there", dir+"/file") },
			opts: []Option{FollowSymlink()}, want: ErrIsDirectory, links: map[string]string{"file": "there"},
		},
		{
			name: "to a directory by its spelling", prepare: func(t *testing.T, dir string) { link(t, "none/", dir+"/file") },
			opts: []Option{FollowSymlink()}, want: ErrIsDirectory, links: map[string]string{"file": "none/"}, absent: "none",
		},
		{
			name: "to a device", prepare: func(t *testing.T, dir string) { link(t, os.DevNull, dir+"/file") },
			opts: []Option{FollowSymlink()}, want: ErrIrregular, links: map[string]string{"file": os.DevNull},
		},
		{
			name: "40 links", prepare: func(t *testing.T, dir string) { chain(t, dir, 40, ref) },
			opts: []Option{FollowSymlink()}, written: ref,
		},
		{
			name: "41 links", prepare: func(t *testing.T, dir string) { chain(t, dir, 41, ref) },
			opts: []Option{FollowSymlink()}, want: ErrLoop,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := shortDir(t)
			require.NoError(t, os.Mkdir(filepath.Join(dir, "there"), 0o755))
			put(t, filepath.Join(dir, ref), oldContent, 0o600)
			c.prepare(t, dir)
			m := newMachine()
			m.hook = func(step int, _ bool) {
				if m.steps[step] == "sync" { // the temporary file lies beside what will be replaced
					assert.Len(t, temps(t, filepath.Dir(filepath.Join(dir, c.written))), 1)
				}
			}
			open := descriptors(t)
			err := writeFile(m, filepath.Join(dir, "file"), []byte(newContent), 0o600, newOptions(c.opts))
			assert.Equal(t, open, descriptors(t))
			if c.want != nil {
				require.ErrorIs(t, err, c.want)
			} else {
				require.NoError(t, err)
				written := filepath.Join(dir, c.written)
				assert.True(t, modeOf(t, written).IsRegular())
				assert.Equal(t, newContent, contentOf(t, written))
			}
			if c.written != ref {
				assert.Equal(t, oldContent, contentOf(t, filepath.Join(dir, ref)))
			}
			for name, target := range c.links {
				got, err := os.Readlink(filepath.Join(dir, name))
				require.NoError(t, err)
				assert.Equal(t, target, got)
			}
			if c.absent != "" {
				_, err := os.Lstat(filepath.Join(dir, c.absent))
				assert.ErrorIs(t, err, fs.ErrNotExist)
			}
			assert.Empty(t, temps(t, dir))
			assert.Empty(t, temps(t, filepath.Join(dir, "there")))
		})
	}
}

// chain makes n links, the first of them "file", the last to target.
func chain(t *testing.T, dir string, n int, target string) {
	for i := n - 1; i > 0; i-- {
		name := strconv.Itoa(i)
		link(t, target, filepath.Join(dir, name))
		target = name
	}
	link(t, target, filepath.Join(dir, "file"))
}

func TestParentsMadeByOthers(t *testing.T) {
	for _, answer := range []error{sys.Exists, sys.ReadOnly, sys.AccessDenied} {
		t.Run(answer.Error(), func(t *testing.T) {
			parent := filepath.Join(t.TempDir(), "made")
			m := newMachine()
			m.fail = func(op string, _ int) error {
				if op != "mkdir" {
					return nil
				}
				require.NoError(t, os.Mkdir(parent, 0o755))
				return answer
			}
			require.NoError(t, writeFile(m, filepath.Join(parent, "file"), []byte(newContent), 0o600, newOptions(nil)))
			assert.Equal(t, newContent, contentOf(t, filepath.Join(parent, "file")))
			assert.Equal(t, m.opens, m.closes)
		})
	}
}

// TestParentsEnd: a system that has no directory at all, not even the root, is not asked for ever.
func TestParentsEnd(t *testing.T) {
	for _, path := range []string{"a/b/file", "/a/b/file"} {
		m := newMachine()
		m.fail = func(string, int) error { return sys.NotExist }
		err := writeFile(m, path, nil, 0o600, newOptions(nil))
		require.ErrorIs(t, err, fs.ErrNotExist)
		assert.Equal(t, 3, m.count("mkdir"))
	}
}
