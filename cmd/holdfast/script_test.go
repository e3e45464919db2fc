package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/holdfast-go/holdfast/internal/child"
)

// TestMain makes this test binary the commands that the scripts run: ours, and a tool that plays their other parts.
func TestMain(m *testing.M) {
	child.Gate()
	testscript.Main(tests{m}, map[string]func(){"holdfast": main, "tool": toolMain})
}

// tests is this binary when it is not one of the commands.
type tests struct{ *testing.M }

func (t tests) Run() int {
	if os.Getenv("GORACE") == "" { // a process under the race detector would otherwise take a second to end
		os.Setenv("GORACE", "atexit_sleep_ms=0")
	}
	heedSignals()
	return t.M.Run()
}

// TestScripts runs each script of the repository's testdata/script. Beside testscript's own commands they have
//
//	ends WANT CMD...   run CMD; it must end by this exit code, or by this signal
//	alone FILE...      nothing lies beside FILE that is named after it: no lock, claim or temporary file
//	mode OCTAL FILE    FILE has these permission bits
//	age FILE           make FILE old
//	[!] old FILE       FILE is as old as age made it
//	lines N            standard error had N lines, each with our prefix
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("..", "..", "testdata", "script"),
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"ends": scriptEnds, "alone": scriptAlone, "mode": scriptMode, "age": scriptAge, "old": scriptOld, "lines": scriptLines,
		},
		Condition: func(condition string) (bool, error) {
			switch condition {
			case "root":
				return os.Geteuid() == 0, nil
			case "links":
				dir, err := os.MkdirTemp("", "links")
				defer os.RemoveAll(dir)
				return hasLinks(dir), err
			}
			if tool, ok := strings.CutPrefix(condition, "needs:"); ok {
				return installed(tool)
			}
			return false, fmt.Errorf("unknown condition %q", condition)
		},
	})
}

func scriptEnds(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: ends WANT CMD...")
	}
	err := ts.Exec(args[1], args[2:]...)
	if got := how(err); got != args[0] {
		ts.Fatalf("%s ended by %s, not by %s", args[1], got, args[0])
	}
}

func scriptAlone(ts *testscript.TestScript, neg bool, args []string) {
	for _, file := range args {
		found, err := filepath.Glob(ts.MkAbs(file) + ".*")
		ts.Check(err)
		if len(found) > 0 && !neg || len(found) == 0 && neg {
			ts.Fatalf("beside %s: %q", file, found)
		}
	}
}

func scriptMode(ts *testscript.TestScript, neg bool, args []string) {
	info, err := os.Stat(ts.MkAbs(args[1]))
	ts.Check(err)
	want, err := strconv.ParseUint(args[0], 8, 32)
	ts.Check(err)
	if got := info.Mode().Perm(); got != os.FileMode(want) {
		ts.Fatalf("%s has mode %o, not %o", args[1], got, want)
	}
}

var aged = time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)

func scriptAge(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(os.Chtimes(ts.MkAbs(args[0]), aged, aged))
}

func scriptOld(ts *testscript.TestScript, neg bool, args []string) {
	info, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	if old := info.ModTime().Equal(aged); old == neg {
		ts.Fatalf("%s is of %s", args[0], info.ModTime())
	}
}

func scriptLines(ts *testscript.TestScript, neg bool, args []string) {
	text := ts.ReadFile("stderr")
	if got := strings.Count(text, "\n"); strconv.Itoa(got) != args[0] {
		ts.Fatalf("standard error has %d lines, not %s", got, args[0])
	}
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "holdfast: ") || !strings.HasSuffix(line, "\n") {
			ts.Fatalf("not a message of ours: %q", line)
		}
	}
}

// installed reports whether a program is there. One that HOLDFAST_REQUIRE names must be.
func installed(tool string) (bool, error) {
	_, err := exec.LookPath(tool)
	if err != nil && slices.Contains(strings.Split(os.Getenv("HOLDFAST_REQUIRE"), ","), tool) {
		return false, fmt.Errorf("%s is required: %w", tool, err)
	}
	return err == nil, nil
}

// hasLinks reports whether a symbolic link can be made in dir and seen.
func hasLinks(dir string) bool {
	name := filepath.Join(dir, "link-probe")
	if os.Symlink("x", name) != nil {
		return false
	}
	defer os.Remove(name)
	info, err := os.Lstat(name)
	return err == nil && info.Mode()&os.ModeSymlink != 0
}

// how is the end of a process in the words of the scripts.
func how(err error) string {
	exit, ok := err.(*exec.ExitError)
	switch {
	case err == nil:
		return "0"
	case !ok:
		return err.Error()
	}
	if name := signalName(exit.ProcessState); name != "" {
		return name
	}
	return strconv.Itoa(exit.ExitCode())
}

// TestScriptsExist fails if the scripts are not where TestScripts looks for them.
func TestScriptsExist(t *testing.T) {
	_, here, _, _ := runtime.Caller(0)
	scripts, err := filepath.Glob(filepath.Join(filepath.Dir(here), "..", "..", "testdata", "script", "*.txtar"))
	if err != nil || len(scripts) < 20 {
		t.Fatalf("found %d scripts, %v", len(scripts), err)
	}
}
