package atomicwrite

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/layering"
	"github.com/holdfast-go/holdfast/internal/sys"
	"github.com/holdfast-go/holdfast/internal/testenv"
)

// childEnv makes the test binary one of the children instead of running tests. Its value is the child's name and its
// arguments.
const childEnv = "ATOMICWRITE_TEST_CHILD"

const childSeparator = "\x1f"

// children are what this binary does in a process of its own. An error is printed and makes the exit code 1.
var children = map[string]func(args []string) error{}

func TestMain(m *testing.M) {
	call, isChild := os.LookupEnv(childEnv)
	if !isChild {
		os.Exit(testenv.Run(m))
	}
	args := strings.Split(call, childSeparator)
	if err := children[args[0]](args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// child prepares a process of this binary that runs one of the children.
func child(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	require.Contains(t, children, name)
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childEnv+"="+strings.Join(append([]string{name}, args...), childSeparator))
	return cmd
}

func TestLayering(t *testing.T) { layering.Check(t, ".") }

func put(t *testing.T, path, content string, mode os.FileMode) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(content), mode))
	require.NoError(t, os.Chmod(path, mode))
}

func contentOf(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(data)
}

func modeOf(t *testing.T, path string) os.FileMode {
	t.Helper()
	info, err := os.Lstat(path)
	require.NoError(t, err)
	return info.Mode()
}

// identity is the inode at path. That of package os is looked up only when it is compared, on Windows.
func identity(t *testing.T, path string) sys.FileID {
	t.Helper()
	dir, err := sys.OpenDir(filepath.Dir(path))
	require.NoError(t, err)
	defer dir.Close()
	info, err := dir.Lstat(filepath.Base(path))
	require.NoError(t, err)
	return info.ID
}

// temps are the temporary files in dir, ours or not.
func temps(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*.tmp"))
	require.NoError(t, err)
	return found
}

// names are all entries of dir.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var found []string
	for _, e := range entries {
		found = append(found, e.Name())
	}
	return found
}
