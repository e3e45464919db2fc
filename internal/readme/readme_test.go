// Package readme runs what the README shows.
package readme

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const root = "../.."

// blocks are the fenced blocks of the README in one language.
func blocks(t *testing.T, language string) (found []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	parts := strings.Split(string(text), "```")
	for n := 1; n < len(parts); n += 2 {
		if code, ok := strings.CutPrefix(parts[n], language+"\n"); ok {
			found = append(found, code)
		}
	}
	return found
}

func needsGo(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil || runtime.GOOS == "windows" {
		t.Skip("needs the go command and a Unix shell")
	}
}

// The main job, on a file that does not exist and then on one that does.
func TestEdit(t *testing.T) {
	needsGo(t)
	commands := blocks(t, "sh")
	require.Len(t, commands, 2)
	assert.Equal(t, "go test ./...\n", commands[1])
	dir := t.TempDir()
	edit := strings.NewReplacer("settings.json", filepath.Join(dir, "settings.json")).Replace(commands[0])
	for range 2 {
		out, err := run(edit)
		require.NoError(t, err, out)
		assert.Empty(t, out)
	}
	content, err := os.ReadFile(filepath.Join(dir, "settings.json"))
	require.NoError(t, err)
	assert.Equal(t, `{"theme":"dark"}`, strings.TrimSpace(string(content)))
	list, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, list, 1)
}

func run(command string) (string, error) {
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOFLAGS=")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// The Go example is compiled as it stands, and run.
func TestExample(t *testing.T) {
	needsGo(t)
	examples := blocks(t, "go")
	require.Len(t, examples, 1)
	dir := t.TempDir()
	source, binary, overlay := filepath.Join(dir, "main.go"), filepath.Join(dir, "example"), filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(source, []byte(examples[0]), 0o600))
	at, err := filepath.Abs("example/main.go")
	require.NoError(t, err)
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {at: source}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(overlay, replace, 0o600))
	build := exec.Command("go", "build", "-overlay", overlay, "-o", binary, "./example")
	build.Env = append(os.Environ(), "GOFLAGS=")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)

	settings := filepath.Join(dir, "settings.json")
	for before, after := range map[string]string{"": `{"theme":"dark"}`, `{"a":1,"theme":"light"}`: `{"a":1,"theme":"dark"}`} {
		require.NoError(t, os.RemoveAll(settings))
		if before != "" {
			require.NoError(t, os.WriteFile(settings, []byte(before), 0o600))
		}
		example := exec.Command(binary)
		example.Dir = dir
		out, err = example.CombinedOutput()
		require.NoError(t, err, "%s", out)
		content, err := os.ReadFile(settings)
		require.NoError(t, err)
		assert.Equal(t, after, string(content))
	}
}

func TestLength(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	assert.LessOrEqual(t, strings.Count(string(text), "\n"), 200)
}

// Each line of the table of peers names a test that there is, and versions that are the pinned ones.
func TestPeers(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	_, table, found := strings.Cut(string(text), "## Beside Node\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n## ")
	tests := map[string]bool{}
	require.NoError(t, filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if entry != nil && (entry.Name() == ".git" || entry.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, match := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllSubmatch(source, -1) {
			tests[string(match[1])] = true
		}
		return err
	}))
	rows := regexp.MustCompile(`(?m)^\| .*\|$`).FindAllString(table, -1)
	require.Greater(t, len(rows), 10)
	for _, row := range rows[2:] {
		named := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(row, -1)
		assert.NotEmpty(t, named, row)
		for _, name := range named {
			assert.Contains(t, tests, name[1], row)
		}
	}
	pins, err := os.ReadFile(filepath.Join(root, "testdata", "node", "package.json"))
	require.NoError(t, err)
	for _, version := range regexp.MustCompile(`\d+\.\d+\.\d+[-\w.]*\b`).FindAllString(table, -1) {
		assert.Contains(t, string(pins), version)
	}
}
