//go:build unix

package pluginrun

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testenv"
)

// manager is a real package manager with a home of its own; no registry answers it.
type manager struct {
	t    testing.TB
	name string
	home string
	env  []string
}

// longest is how long one of these processes may take; they need seconds.
const longest = time.Minute

var managerNames = []string{"pnpm10", "pnpm12", "npm"}

func eachManager(t *testing.T, f func(t *testing.T, m manager)) {
	for _, name := range managerNames {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, newManager(t, name))
		})
	}
}

func newManager(t testing.TB, name string) manager {
	t.Helper()
	m := manager{t: t, name: name, home: t.TempDir()}
	bin := filepath.Join(m.home, "bin")
	require.NoError(t, os.Mkdir(bin, 0o755))
	if name == "npm" {
		if _, err := exec.LookPath("npm"); err != nil {
			testenv.Missing(t, "node", "npm is not installed")
		}
	} else {
		// Not a script of sh, which drops variables that it could not assign to.
		shim := fmt.Sprintf("#!/usr/bin/env node\nimport(%q)\n", testenv.Pnpm(t, name))
		require.NoError(t, os.WriteFile(filepath.Join(bin, "pnpm"), []byte(shim), 0o755))
	}
	m.env = []string{
		"PATH=" + bin + string(filepath.ListSeparator) + os.Getenv("PATH"),
		"HOME=" + m.home,
		"npm_config_cache=" + filepath.Join(m.home, "npm"),
		"npm_config_registry=http://127.0.0.1:9/",
		"npm_config_fetch_retries=0",
		"npm_config_update_notifier=false",
		"npm_config_audit=false",
		"npm_config_fund=false",
		"tag=" + m.tag(),
		"GORACE=atexit_sleep_ms=0", // our processes end when they have ended
	}
	for _, what := range []string{"DATA", "CACHE", "STATE", "CONFIG"} {
		m.env = append(m.env, "XDG_"+what+"_HOME="+filepath.Join(m.home, strings.ToLower(what)))
	}
	t.Cleanup(m.endAll)
	return m
}

// tag is a word in the environment of every process that this manager comes to, whether or not it has our mark.
func (m manager) tag() string { return filepath.Base(filepath.Dir(m.home)) + filepath.Base(m.home) }

// processes are the live ones with the tag, where the system shows environments.
func (m manager) processes() (pids []int) {
	found, err := filepath.Glob("/proc/[0-9]*/environ")
	require.NoError(m.t, err)
	for _, path := range found {
		block, err := os.ReadFile(path)
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err == nil && slices.Contains(strings.Split(string(block), "\x00"), "tag="+m.tag()) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// endAll ends what a failed test has left running, until a look finds nothing; it sleeps between two looks only.
func (m manager) endAll() {
	for end := time.Now().Add(longest); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		left := m.processes()
		if len(left) == 0 {
			return
		}
		for _, pid := range left {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	m.t.Errorf("still there: %v", m.processes())
}

func (m manager) program() string {
	if m.name == "npm" {
		return "npm"
	}
	return DefaultProgram
}

// verb adds a package.
func (m manager) verb() string {
	if m.name == "npm" {
		return "install"
	}
	return "add"
}

// add are the arguments that add a local package.
func (m manager) add(pkg string) []string { return []string{m.verb(), "file:" + pkg} }

func (m manager) lockfile() string {
	if m.name == "npm" {
		return "package-lock.json"
	}
	return "pnpm-lock.yaml"
}

// pkg is a local package to depend on.
func (m manager) pkg(name string) string {
	m.t.Helper()
	dir := filepath.Join(m.home, "packages", name)
	require.NoError(m.t, os.MkdirAll(dir, 0o755))
	write(m.t, filepath.Join(dir, manifest), fmt.Sprintf("{\"name\":%q,\"version\":\"1.0.0\"}\n", name))
	return dir
}

// profile is a profile whose lifecycle script, if there is one, is what sh makes of script.
func (m manager) profile(script string) string {
	m.t.Helper()
	dir := m.t.TempDir()
	content := "{\n  \"name\": \"profile\",\n  \"version\": \"1.0.0\",\n  \"private\": true"
	if script != "" {
		write(m.t, filepath.Join(dir, "script.sh"), script)
		content += ",\n  \"scripts\": {\n    \"preinstall\": \"sh script.sh\"\n  }"
	}
	write(m.t, filepath.Join(dir, manifest), content+"\n}\n")
	return dir
}

// runner runs the manager from this process.
func (m manager) runner(dir string, opts ...Option) *Runner {
	return New(dir, append([]Option{Program(m.program()), Env(m.env)}, opts...)...)
}

// dependencies are the names in the manifest.
func dependencies(t testing.TB, dir string) (names []string) {
	t.Helper()
	var found struct{ Dependencies map[string]string }
	require.NoError(t, json.Unmarshal([]byte(read(t, filepath.Join(dir, manifest))), &found))
	for name := range found.Dependencies {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// nothingLeft demands that no lock, record, copy or temporary file is left of any run.
func nothingLeft(t testing.TB, dir string) {
	t.Helper()
	var left []string
	for _, pattern := range []string{"*.lock", ".*.tmp", "*.tmp", "*.takeover-*", ".plugin-manager/run.json*", ".plugin-manager/restore*/*"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		require.NoError(t, err)
		left = append(left, found...)
	}
	assert.Empty(t, left)
}
