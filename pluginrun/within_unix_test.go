//go:build unix

package pluginrun

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/filelock"
)

func init() { children["within"] = childWithin }

// childWithin NAME: a run in the profile where it is; what became of it is in the file NAME.
func childWithin(args []string) error {
	os.Unsetenv(childEnv)
	r, err := New(".", Program("sh"), LockWait(longest)).Run(context.Background(), "-c", "true")
	answer := "reentrant"
	if !errors.Is(err, ErrReentrant) {
		answer = fmt.Sprint(r != nil && r.ExitCode == 0, err)
	}
	if err := os.WriteFile("answer.tmp", []byte(answer), 0o644); err != nil {
		return err
	}
	return os.Rename("answer.tmp", args[0])
}

// answers waits for what childWithin writes.
func answers(t testing.TB, dir, name string) (text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	require.Eventually(t, func() bool { _, err := os.Stat(path); return err == nil }, longest, 5*time.Millisecond)
	return read(t, path)
}

// A profile is made; one run at a time per process.
func TestReentrant(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "profile\nof two lines")
	var inner error
	_, err := shell(t, dir, "", OnStart(func(int) { _, inner = shell(t, dir, "") }))
	require.NoError(t, err)
	assert.ErrorIs(t, inner, ErrReentrant)
	assert.ErrorIs(t, inner, filelock.ErrReentrant)
	assert.NotContains(t, inner.Error(), "\n")
}

// Whatever a run has started is told that it is part of it, also when its parents have ended; after the run it is like any
// other, though it has the mark still.
func TestWithin(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs a list of processes")
	}
	again := fmt.Sprintf("%s=within '%s' ", childEnv, os.Args[0])
	daemon := again + "early; " + waitAtGate + "; " + again + "late"
	for name, script := range map[string]string{
		"a script":                 again + "early",
		"a script without parents": "(setsid sh -c \"" + again + "early\" &); while ! test -f early; do :; done",
		"a daemon":                 "(" + daemon + ") >/dev/null 2>&1 & while ! test -f early; do :; done",
		"a daemon with a session":  "setsid sh -c \"" + daemon + "\" >/dev/null 2>&1 & while ! test -f early; do :; done",
	} {
		t.Run(name, func(t *testing.T) {
			dir := profile(t)
			gate := newGateway(t, dir)
			r, err := shell(t, dir, script)
			require.NoError(t, err)
			require.Zero(t, r.ExitCode, "%s", r.Tail)
			assert.Equal(t, "reentrant", answers(t, dir, "early"))
			if strings.Contains(script, "late") {
				require.NotEmpty(t, r.Survivors)
				gate.let(1)
				assert.Equal(t, "true <nil>", answers(t, dir, "late"))
				require.Eventually(t, func() bool { s, err := Inspect(dir); return err == nil && s.Verdict == Stopped }, longest, 5*time.Millisecond)
			}
			settled(t, dir)
		})
	}
}

// A script of a run whose manager was killed is part of it still; a mark of another profile's run says nothing, and neither
// does one of a run that is over.
func TestWithinByMark(t *testing.T) {
	dir := profile(t)
	id, err := osSystem{}.identify(dir)
	require.NoError(t, err)
	const token = "00112233445566aa"
	t.Setenv(Variable, "0-0-1 "+profileMark(id)+token)
	_, err = shell(t, dir, "")
	assert.NoError(t, err, "it is over")
	copies := place{dir}.copiesOf(token)
	require.NoError(t, os.MkdirAll(copies, 0o700))
	write(t, filepath.Join(copies, indexName), `{"version":1,"files":[]}`)
	_, err = shell(t, dir, "")
	assert.ErrorIs(t, err, ErrReentrant)
	_, err = shell(t, profile(t), "")
	assert.NoError(t, err, "another profile's")
}
