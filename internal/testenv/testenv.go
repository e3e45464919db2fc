// Package testenv says what the machine at hand has for tests that need more than Go. What is missing skips in one line;
// what HOLDFAST_REQUIRE names, separated by commas, fails instead.
package testenv

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// Missing ends the test: what is the word that HOLDFAST_REQUIRE may contain, reason says what to do about it.
func Missing(t testing.TB, what, reason string) {
	t.Helper()
	if Required(what) {
		t.Fatalf("%s is required: %s", what, reason)
	}
	t.Skipf("no %s: %s", what, reason)
}

// Required reports whether HOLDFAST_REQUIRE names what: then tests do the real thing, not what people have patience for.
func Required(what string) bool {
	return slices.Contains(strings.Split(os.Getenv("HOLDFAST_REQUIRE"), ","), what)
}

// Node returns the folder of the Node peers, with their pinned packages installed.
func Node(t testing.TB) string {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		Missing(t, "node", "node is not installed")
	}
	_, here, _, _ := runtime.Caller(0)
	dir := filepath.Join(filepath.Dir(here), "..", "..", "testdata", "node")
	if _, err := os.Stat(filepath.Join(dir, "node_modules")); err != nil {
		Missing(t, "node", "run npm ci in testdata/node")
	}
	return dir
}

// Pnpm returns the program, for node to run, of a pinned pnpm among the Node peers: "pnpm10" or "pnpm12".
func Pnpm(t testing.TB, name string) string {
	t.Helper()
	modules := filepath.Join(Node(t), "node_modules")
	native, err := filepath.Glob(filepath.Join(modules, "@pnpm", "exe.*"))
	if name == "pnpm12" && (err != nil || len(native) == 0) { // its script would download it
		Missing(t, "pnpm", name+" has no binary for this machine in testdata/node")
	}
	found, err := filepath.Glob(filepath.Join(modules, name, "bin", "pnpm.?js"))
	if err != nil || len(found) != 1 {
		Missing(t, "pnpm", "run npm ci in testdata/node")
	}
	return found[0]
}

// Root skips unless the test runs as root on Linux: mounts, namespaces and other users need it.
func Root(t testing.TB) {
	t.Helper()
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Skip("needs root on Linux")
	}
}
