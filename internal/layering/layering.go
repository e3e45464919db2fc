// Package layering holds packages to the rule that calls into the operating system live in files named os_*.go.
package layering

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Check fails t for every production file of the package in dir that imports package os or anything below it, syscall or
// golang.org/x/sys and is not named os_*.go, whatever system the file is for. A directory without production files fails
// too: nothing would have been checked.
func Check(t testing.TB, dir string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, name := range names {
		base := filepath.Base(name)
		if strings.HasSuffix(base, "_test.go") {
			continue
		}
		checked++
		if strings.HasPrefix(base, "os_") {
			continue
		}
		for _, path := range imports(t, name) {
			if system(path) {
				t.Errorf("%s imports %q: only os_*.go may", base, path)
			}
		}
	}
	if checked == 0 {
		t.Errorf("no production files in %s", dir)
	}
}

func system(path string) bool {
	for _, root := range []string{"os", "syscall", "golang.org/x/sys"} {
		if path == root || strings.HasPrefix(path, root+"/") {
			return true
		}
	}
	return false
}

func imports(t testing.TB, name string) []string {
	t.Helper()
	src, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	f, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, spec := range f.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}
