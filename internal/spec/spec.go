// Package spec runs the tables in testdata/spec. Go and Node run the same ones: what two languages share stands there and
// nowhere else. Only tests import this package.
//
// A table is {"version":1,"about":…,"cases":[{"name":…,"why":…,…}]}. {x×3} in it stands for xxx. "systems":"unix" or "linux"
// in a case keeps it for those.
package spec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

const version = 1

// dirEnv names another folder of tables: for the test that a changed row fails.
const dirEnv = "HOLDFAST_SPEC"

// Case is what every case of every table has.
type Case struct {
	Name    string `json:"name"`
	Why     string `json:"why"`     // the rule or the incident behind it
	Systems string `json:"systems"` // where it can be run, if not everywhere
}

func (c Case) head() Case { return c }

func (c Case) runs(system string) bool {
	switch c.Systems {
	case "unix":
		return system != "windows"
	case "linux":
		return system == "linux"
	default:
		return true
	}
}

// row is a struct that embeds Case.
type row interface{ head() Case }

// Run runs each case of the table as a subtest, and says how many there were. The cases that are not for this system are
// one subtest, which is skipped and says how many they are.
func Run[C row](t *testing.T, table string, run func(t *testing.T, c C)) {
	t.Helper()
	cases, err := load[C](filepath.Join(folder(), table))
	require.NoError(t, err)
	elsewhere := map[string]int{}
	for _, c := range cases {
		head := c.head()
		if !head.runs(runtime.GOOS) {
			elsewhere[head.Systems]++
			continue
		}
		t.Run(head.Name, func(t *testing.T) {
			t.Cleanup(func() {
				if t.Failed() {
					t.Log("why this case is there:", head.Why)
				}
			})
			run(t, c)
		})
	}
	if len(elsewhere) > 0 {
		t.Run("elsewhere", func(t *testing.T) { t.Skipf("cases that are only for these systems: %v", elsewhere) })
	}
	t.Logf("%s: %d cases", table, len(cases))
}

// folder is where the tables are.
func folder() string {
	if dir := os.Getenv(dirEnv); dir != "" {
		return dir
	}
	_, here, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(here), "..", "..", "testdata", "spec")
}

var repeated = regexp.MustCompile(`\{([^{}"\\])×(\d+)\}`)

func repeat(match []byte) []byte {
	parts := repeated.FindSubmatch(match)
	n, err := strconv.Atoi(string(parts[2]))
	if err != nil {
		panic(err) // more digits than any table has use for
	}
	return bytes.Repeat(parts[1], n)
}

// load reads a table. Nothing in it is passed over.
func load[C row](path string) ([]C, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var table struct {
		Version int    `json:"version"`
		About   string `json:"about"`
		Cases   []C    `json:"cases"`
	}
	text = repeated.ReplaceAllFunc(text, repeat)
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&table); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, fmt.Errorf("%s: something follows the table", filepath.Base(path))
	}
	if err := noKeyTwice(json.NewDecoder(bytes.NewReader(text))); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	var wrong []error
	complain := func(format string, args ...any) {
		wrong = append(wrong, fmt.Errorf(filepath.Base(path)+": "+format, args...))
	}
	if table.Version != version {
		complain("version %d, not %d", table.Version, version)
	}
	if table.About == "" || len(table.Cases) == 0 {
		complain("about or cases are missing")
	}
	seen := map[string]bool{}
	for n, c := range table.Cases {
		head := c.head()
		if head.Name == "" || head.Why == "" || seen[head.Name] {
			complain("case %d, %q: no name, no why, or a name used before", n+1, head.Name)
		}
		if !slices.Contains([]string{"", "unix", "linux"}, head.Systems) {
			complain("case %q: unknown systems %q", head.Name, head.Systems)
		}
		seen[head.Name] = true
	}
	return table.Cases, errors.Join(wrong...)
}

// noKeyTwice reads a value, and fails where an object in it has a key twice: both languages pass over the first.
func noKeyTwice(d *json.Decoder) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	open, _ := token.(json.Delim)
	if open == 0 {
		return nil
	}
	seen := map[json.Token]bool{}
	for d.More() {
		if open == '{' {
			key, err := d.Token()
			if err != nil {
				return err
			}
			if seen[key] {
				return fmt.Errorf("the key %q twice", key)
			}
			seen[key] = true
		}
		if err := noKeyTwice(d); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

// Bytes are spelled in a table with one character each, U+0000 to U+00FF, so that they need not be UTF-8.
type Bytes []byte

// UnmarshalJSON reads that spelling.
func (b *Bytes) UnmarshalJSON(text []byte) error {
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	*b = Bytes{}
	for _, r := range s {
		if r > 0xff {
			return fmt.Errorf("%q is no byte", r)
		}
		*b = append(*b, byte(r))
	}
	return nil
}
