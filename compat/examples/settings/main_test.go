package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/filelock"
	"github.com/holdfast-go/holdfast/internal/testenv"
)

const childEnv = "SETTINGS_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(testenv.Run(m))
}

func settings(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), childEnv+"=1")
	return cmd
}

// inMemory is a file on a file system in memory where there is one: the Node package gives up after 2 s, and a disk that
// stalls for so long is not the subject.
func inMemory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "holdfast")
	if err != nil {
		dir = t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "settings.json")
}

// The Go tool and the Node script change one file at the same time, and each change is there afterwards.
func TestBesideNode(t *testing.T) {
	script := filepath.Join(testenv.Node(t), "settings.mjs")
	path := inMemory(t)
	require.NoError(t, os.WriteFile(path, []byte(`{"kept":{"deep":[1,true]}}`), 0o644))
	want := map[string]any{"kept": map[string]any{"deep": []any{1.0, true}}}
	l, err := filelock.Acquire(t.Context(), path) // lets them all begin
	require.NoError(t, err)
	var all []*exec.Cmd
	var counts, complaints [8]bytes.Buffer
	for n := range 8 {
		key := fmt.Sprintf("key%d", n)
		args := []string{path, key, "set"}
		cmd := settings(args...)
		if n%2 == 1 {
			cmd = exec.Command("node", append([]string{script}, args...)...)
		}
		cmd.Stdout, cmd.Stderr = &counts[n], &complaints[n]
		require.NoError(t, cmd.Start())
		all = append(all, cmd)
		want[key] = "set"
	}
	require.NoError(t, l.Release())
	var seen []string
	for n, cmd := range all {
		assert.NoError(t, cmd.Wait(), "%s", complaints[n].String())
		seen = append(seen, strings.TrimSpace(counts[n].String()))
	}
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	var got map[string]any
	require.NoError(t, json.Unmarshal(content, &got))
	assert.Equal(t, want, got)
	slices.Sort(seen)
	assert.Equal(t, []string{"2", "3", "4", "5", "6", "7", "8", "9"}, seen, "each saw the changes of those before it")
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	assert.Len(t, entries, 1, "nothing is left")
}

func TestSettings(t *testing.T) {
	path := filepath.Join(t.TempDir(), "settings.json")
	out, err := settings(path, "theme", "dark").CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Equal(t, "1", strings.TrimSpace(string(out)))
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "{\n  \"theme\": \"dark\"\n}\n", string(content))

	for _, unusable := range []string{"{", "null"} {
		require.NoError(t, os.WriteFile(path, []byte(unusable), 0o600))
		out, err = settings(path, "theme", "dark").CombinedOutput()
		require.Error(t, err)
		assert.Regexp(t, "^settings: "+regexp.QuoteMeta(path)+": .*\n$", string(out))
		content, err = os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, unusable, string(content), "what cannot be read is not replaced")
	}

	out, err = settings(filepath.Join(path, "no", "file"), "theme", "dark").CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(out), "settings: ")
	require.Error(t, settings(path).Run())
}
