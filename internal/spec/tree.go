package spec

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Tree is what lies below a directory, by path: "dir 0755", "file 0600 content", "link target", "fifo 0600". Windows has
// no such modes; there they are not compared.
type Tree map[string]string

// Fill puts values in the place of {names} in every path and entry of a tree.
func (tree Tree) Fill(values ...string) Tree {
	filled := Tree{}
	replacer := strings.NewReplacer(values...)
	for path, entry := range tree {
		filled[replacer.Replace(path)] = replacer.Replace(entry)
	}
	return filled
}

// Make makes the tree in dir, each mode exactly as stated. What has the name of a file, link or FIFO already is replaced.
func (tree Tree) Make(t *testing.T, dir string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		kind, rest, _ := strings.Cut(tree[name], " ")
		if kind == "link" {
			require.NoError(t, os.Symlink(rest, path))
			continue
		}
		octal, content, _ := strings.Cut(rest, " ")
		mode, err := strconv.ParseUint(octal, 8, 9)
		require.NoError(t, err, tree[name])
		switch kind {
		case "dir":
			require.NoError(t, os.Mkdir(path, 0o700))
		case "file":
			if err := os.Remove(path); err != nil {
				require.ErrorIs(t, err, fs.ErrNotExist)
			}
			require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		case "fifo":
			require.NoError(t, mkfifo(path))
		default:
			require.Fail(t, "no kind of entry", tree[name])
		}
		require.NoError(t, os.Chmod(path, fs.FileMode(mode)))
	}
}

// Check compares what lies below dir with the tree.
func (tree Tree) Check(t *testing.T, dir string) {
	t.Helper()
	found := Tree{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		found[filepath.ToSlash(name)], err = entry(path)
		return err
	}))
	assert.Equal(t, tree.comparable(), found.comparable())
}

func entry(path string) (string, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return "", err
	}
	mode := info.Mode().Perm()
	switch info.Mode().Type() {
	case fs.ModeDir:
		return fmt.Sprintf("dir %#04o", mode), nil
	case fs.ModeNamedPipe:
		return fmt.Sprintf("fifo %#04o", mode), nil
	case fs.ModeSymlink:
		target, err := os.Readlink(path)
		return "link " + target, err
	case 0:
		content, err := os.ReadFile(path)
		return fmt.Sprintf("file %#04o %s", mode, content), err
	default:
		return info.Mode().String(), nil
	}
}

var modes = regexp.MustCompile(`^(dir|file|fifo) 0[0-7]{3}`)

func (tree Tree) comparable() Tree {
	if runtime.GOOS != "windows" {
		return tree
	}
	without := Tree{}
	for path, entry := range tree {
		without[path] = modes.ReplaceAllString(entry, "$1")
	}
	return without
}
