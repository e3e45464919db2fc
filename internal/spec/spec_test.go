package spec

import (
	"bufio"
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testenv"
)

const root = "../.."

// tables are the names of all of them.
func tables(t *testing.T) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(folder())
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// sources calls do for each Go file of the module and of those nested in it.
func sources(t *testing.T, do func(path string, file *ast.File)) {
	t.Helper()
	set := token.NewFileSet()
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git"):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go"):
			return nil
		}
		file, err := parser.ParseFile(set, path, nil, parser.ParseComments)
		if err == nil {
			do(path, file)
		}
		return err
	}))
}

func TestEveryTableIsRun(t *testing.T) {
	assert.Empty(t, strays(t, tables(t)))
}

// strays are the tables that are not run by exactly one test, on every system and under no condition: spec.Run is a
// statement of a test function that skips nothing, in a file named spec_test.go that has no build constraint.
func strays(t *testing.T, tables []string) (found []string) {
	t.Helper()
	runs := map[string]int{}
	for _, table := range tables {
		runs[table] = 0
	}
	sources(t, func(path string, file *ast.File) {
		if filepath.Base(path) != "spec_test.go" || constrained(file) {
			return
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !strings.HasPrefix(f.Name.Name, "Test") || skips(f) {
				continue
			}
			for _, s := range f.Body.List {
				if table, ok := runCall(s); ok {
					runs[table]++
				}
			}
		}
	})
	for table, n := range runs {
		if n != 1 || !slices.Contains(tables, table) {
			found = append(found, table)
		}
	}
	return found
}

func constrained(file *ast.File) bool {
	for _, group := range file.Comments {
		for _, c := range group.List {
			if strings.HasPrefix(c.Text, "//go:build") {
				return true
			}
		}
	}
	return false
}

func skips(f *ast.FuncDecl) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		found = found || ok && strings.HasPrefix(s.Sel.Name, "Skip")
		return true
	})
	return found
}

// runCall returns the table of a statement spec.Run(t, "table", …).
func runCall(s ast.Stmt) (table string, ok bool) {
	e, ok := s.(*ast.ExprStmt)
	if !ok {
		return "", false
	}
	call, ok := e.X.(*ast.CallExpr)
	if !ok || len(call.Args) != 3 {
		return "", false
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || f.Sel.Name != "Run" {
		return "", false
	}
	of, ok := f.X.(*ast.Ident)
	name, literal := call.Args[1].(*ast.BasicLit)
	if !ok || of.Name != "spec" || !literal {
		return "", false
	}
	table, err := strconv.Unquote(name.Value)
	return table, err == nil
}

func TestOnlyTestsImportThis(t *testing.T) {
	sources(t, func(path string, file *ast.File) {
		for _, i := range file.Imports {
			if strings.HasSuffix(i.Path.Value, `/internal/spec"`) {
				assert.True(t, strings.HasSuffix(path, "_test.go"), path)
			}
		}
	})
}

func TestNothingIsPassedOver(t *testing.T) {
	type row struct {
		Case
		Bytes Bytes `json:"bytes"`
		Want  int   `json:"want"`
	}
	const good = `{"name":"a","why":"b","systems":"unix","bytes":"\u00ff{x×3}","want":1}`
	for _, c := range []struct{ text, wrong string }{
		{`{"version":1,"about":"it","cases":[` + good + `]}`, ""},
		{`{"version":2,"about":"it","cases":[` + good + `]}`, "version 2"},
		{`{"version":1,"cases":[` + good + `]}`, "about or cases"},
		{`{"version":1,"about":"it","cases":[]}`, "about or cases"},
		{`{"version":1,"about":"it","more":1,"cases":[` + good + `]}`, "unknown field"},
		{`{"version":1,"about":"it","cases":[{"name":"a","why":"b","wait":1}]}`, "unknown field"},
		{`{"version":1,"about":"it","cases":[{"name":"a"}]}`, "no why"},
		{`{"version":1,"about":"it","cases":[{"why":"b"}]}`, "no name"},
		{`{"version":1,"about":"it","cases":[` + good + `,` + good + `]}`, "used before"},
		{`{"version":1,"about":"it","cases":[{"name":"a","why":"b","systems":"plan9"}]}`, "unknown systems"},
		{`{"version":1,"about":"it","cases":[{"name":"a","why":"b","bytes":"\u0100"}]}`, "no byte"},
		{`{"version":1,"about":"it","cases":[` + good + `]} x`, "follows the table"},
		{`[]`, "cannot unmarshal"},
		{`{"version":1,"about":"it","cases":[{"name":"a","why":"b","want":1,"want":2}]}`, `"want" twice`},
		{`{"version":1,"about":"it","about":"it","cases":[` + good + `]}`, `"about" twice`},
	} {
		path := filepath.Join(t.TempDir(), "table.json")
		require.NoError(t, os.WriteFile(path, []byte(c.text), 0o600))
		cases, err := load[row](path)
		if c.wrong == "" {
			require.NoError(t, err)
			assert.Equal(t, []row{{Case{"a", "b", "unix"}, Bytes("\xffxxx"), 1}}, cases)
			continue
		}
		assert.ErrorContains(t, err, c.wrong, c.text)
	}
}

// Node runs the same tables with as many cases.
func TestNode(t *testing.T) {
	out, err := inNode(t, folder())
	require.NoError(t, err, "%s", out)
	want := map[string]string{}
	for _, table := range tables(t) {
		cases, err := load[anyRow](filepath.Join(folder(), table))
		require.NoError(t, err)
		want[table] = strconv.Itoa(len(cases)) + " cases"
	}
	got := map[string]string{}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		t.Log(lines.Text())
		table, count, _ := strings.Cut(lines.Text(), ": ")
		count, _, _ = strings.Cut(count, ",") // what is not for this system is counted too
		got[table] = count
	}
	assert.Equal(t, want, got)
}

// anyRow is a case of any table.
type anyRow struct {
	Case
	fields
}

type fields struct {
	Bytes, Run, Lock, Base, Wait, Before, During, Full, Call, Errno, Write, Want, Node, RC8, Later any
}

func inNode(t *testing.T, dir string) ([]byte, error) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("Node runs outside")
	}
	return exec.Command("node", filepath.Join(testenv.Node(t), "spec.mjs"), "--dir", dir).CombinedOutput()
}

// A changed row fails in both languages, and is named.
func TestChangedRowsFail(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(folder())))
	for table, change := range map[string][2]string{
		"records.json": {`"bytes": "0042\n", "want": 42`, `"bytes": "0042\n", "want": 34`},
		"lock.json":    {`"g.lock": "file 0600 {live}\n"}}}`, `"g.lock": "file 0640 {live}\n"}}}`},
	} {
		path := filepath.Join(dir, table)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, 1, strings.Count(string(text), change[0]), table)
		require.NoError(t, os.WriteFile(path, []byte(strings.Replace(string(text), change[0], change[1], 1)), 0o600))
	}

	t.Run("Node", func(t *testing.T) {
		out, err := inNode(t, dir)
		require.Error(t, err)
		assert.Contains(t, string(out), "records.json: zero padding: ")
		assert.Contains(t, string(out), "lock.json: another file's lock: ")
		assert.Equal(t, 3, strings.Count(string(out), "found"), "one implementation, and two: %s", out)
	})
	t.Run("Go", func(t *testing.T) {
		if _, err := exec.LookPath("go"); err != nil || runtime.GOOS == "windows" {
			t.Skip("needs the go command, and modes")
		}
		cmd := exec.Command("go", "test", "-count=1", "-vet=off", "-run=^TestSpec(Records|Lock)$", "./filelock")
		cmd.Dir = root
		cmd.Env = append(os.Environ(), dirEnv+"="+dir, "GOFLAGS=")
		out, err := cmd.CombinedOutput()
		require.Error(t, err)
		assert.Contains(t, string(out), "--- FAIL: TestSpecRecords/zero_padding ")
		assert.Contains(t, string(out), "--- FAIL: TestSpecLock/another_file's_lock ")
		assert.Equal(t, 2, strings.Count(string(out), "    --- FAIL: "), "%s", out)
	})
}

// An unknown table fails in both languages, and so does one that is missing.
func TestUnknownTableFails(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(folder())))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "unknown.json"), []byte(`{}`), 0o600))
	assert.Equal(t, []string{"unknown.json"}, strays(t, append(tables(t), "unknown.json")))
	assert.Equal(t, []string{"records.json"}, strays(t, slices.DeleteFunc(tables(t), func(s string) bool { return s == "records.json" })))
	out, err := inNode(t, dir)
	require.Error(t, err)
	assert.Contains(t, string(out), "unknown.json")
	assert.NotContains(t, string(out), "cases\n", "nothing was run")
}
