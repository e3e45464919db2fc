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
	if slices.Contains(strings.Split(os.Getenv("HOLDFAST_REQUIRE"), ","), what) {
		t.Fatalf("%s is required: %s", what, reason)
	}
	t.Skipf("no %s: %s", what, reason)
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

// Root skips unless the test runs as root on Linux: mounts, namespaces and other users need it.
func Root(t testing.TB) {
	t.Helper()
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Skip("needs root on Linux")
	}
}
