package pluginrun

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testenv"
)

// children are what this test binary does when it is started again as another process.
var children = map[string]func(args []string) error{}

const childEnv = "HOLDFAST_TEST_CHILD"

func TestMain(m *testing.M) {
	Gate()
	what := os.Getenv(childEnv)
	if what == "" {
		os.Exit(testenv.Run(m))
	}
	if err := children[what](os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// command starts this test binary again as one of children.
func command(what string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), childEnv+"="+what)
	return cmd
}

// profile is a directory with a manifest.
func profile(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, manifest), "{}\n")
	return dir
}

func write(t testing.TB, path, content string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
}

func read(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(data)
}

// settled checks that a run has left neither lock, record nor copies.
func settled(t testing.TB, dir string) {
	t.Helper()
	p := place{dir}
	for _, path := range []string{p.manifest() + ".lock", p.record()} {
		assert.NoFileExists(t, path)
	}
	assert.Empty(t, copiesIn(t, dir))
}

// copiesIn lists the copies that runs have left, and whatever else is where copies are.
func copiesIn(t testing.TB, dir string) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(place{dir}.copies(), "*"))
	require.NoError(t, err)
	return all
}

// recordOf writes a record as Node does.
func recordOf(t testing.TB, dir string, pid int, grouped bool) {
	t.Helper()
	require.NoError(t, os.MkdirAll(place{dir}.own(), 0o700))
	write(t, place{dir}.record(), fmt.Sprintf("{\"pid\":%d,\"grouped\":%t}\n", pid, grouped))
}
