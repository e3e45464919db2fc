package filelock

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/sys"
)

// stepErrors are the answers that each step of the seam can give on some system.
var stepErrors = map[string][]sys.Kind{
	"openDir":       {sys.NotExist, sys.NotDirectory, sys.AccessDenied, sys.TooManyFiles, sys.IO},
	"lstat":         {sys.AccessDenied, sys.IO},
	"open":          {sys.AccessDenied, sys.TooManyFiles, sys.Loop, sys.IO},
	"read":          {sys.IO},
	"createUnnamed": {sys.Unsupported, sys.IsDirectory, sys.NoSpace, sys.AccessDenied, sys.NotPermitted, sys.ReadOnly, sys.TooManyFiles, sys.IO},
	"createNew":     {sys.NoSpace, sys.AccessDenied, sys.NotPermitted, sys.ReadOnly, sys.NameTooLong, sys.TooManyFiles, sys.IO},
	"linkUnnamed":   {sys.NotExist, sys.NoSpace, sys.AccessDenied, sys.NotPermitted, sys.NameTooLong, sys.IO},
	"moveNew":       {sys.Invalid, sys.NoSpace, sys.AccessDenied, sys.NotPermitted, sys.IO},
	"link":          {sys.Unsupported, sys.NoSpace, sys.AccessDenied, sys.NotPermitted, sys.IO},
	"replace":       {sys.AccessDenied, sys.NotPermitted, sys.Busy, sys.IO},
	"remove":        {sys.AccessDenied, sys.NotPermitted, sys.Busy, sys.IO},
	"write":         {sys.NoSpace, sys.IO},
	"setAttribute":  {sys.Unsupported, sys.NoSpace, sys.IO},
	"attribute":     {sys.Unsupported, sys.IO},
	"tryShared":     {sys.Unsupported, sys.NoLocks, sys.IO},
	"tryExclusive":  {sys.Unsupported, sys.NoLocks, sys.IO},
	"close":         {sys.IO},
}

// Step 1, 2, 3 … fails, before and after its effect, with each answer it can give, until a run has no such step: after an
// error nothing of ours is left, and whatever happened the next contender gets in.
func TestEveryStepFails(t *testing.T) {
	t.Parallel()
	answers := stepErrors
	if runtime.GOOS == "windows" { // each step is a message to one server under Wine: one answer each
		answers = map[string][]sys.Kind{}
		for op, kinds := range stepErrors {
			answers[op] = kinds[:1]
		}
	}
	dead := record(deadPID(t))
	injected := map[string]map[sys.Kind]int{}
	for f := range forms {
		if f == unnamed && runtime.GOOS != "linux" || f == linked && runtime.GOOS == "windows" {
			continue
		}
		for name, initial := range map[string][]string{
			"free":          nil,
			"dead holder":   {"settings.json.lock"},
			"dead claimant": {"settings.json.lock", claimName("settings.json.lock", dead)},
		} {
			for _, after := range []bool{false, true} {
				for n := 1; ; n++ {
					reached := false
					for k := 0; ; k++ {
						path := target(t)
						for _, e := range initial {
							write(t, filepath.Join(filepath.Dir(path), e), dead)
						}
						s, hit := failNth(answers, n, k, after, formRefusals[f])
						outcome := acquireAndRelease(t, s, path)
						if hit.op == "" {
							break
						}
						reached = true
						if injected[hit.op] == nil {
							injected[hit.op] = map[sys.Kind]int{}
						}
						injected[hit.op][hit.kind]++
						checkAfterFailure(t, fmt.Sprintf("form %d, %s, %s", f, name, hit), path, initial, *hit, outcome)
					}
					if !reached {
						break
					}
				}
			}
		}
	}
	for op := range stepErrors {
		if runtime.GOOS == "linux" {
			assert.NotEmpty(t, injected[op], "%s was never made to fail", op)
		}
	}
	var lines []string
	for op, kinds := range injected {
		for kind, times := range kinds {
			lines = append(lines, fmt.Sprintf("%s: %v, %d times", op, kind, times))
		}
	}
	slices.Sort(lines)
	t.Logf("made to fail:\n%s", strings.Join(lines, "\n"))
}

// failedStep is the step that was made to fail.
type failedStep struct {
	op, name string
	kind     sys.Kind
	after    bool
}

func (f failedStep) String() string {
	when := "before"
	if f.after {
		when = "after"
	}
	return fmt.Sprintf("%s %s: %v, %s its effect", f.op, f.name, f.kind, when)
}

// failNth makes the nth step fail with the kth answer it can give; hit stays empty if there is no such step or answer.
func failNth(answers map[string][]sys.Kind, n, k int, after bool, refused []string) (*stepped, *failedStep) {
	hit := &failedStep{}
	count := 0
	s := newStepped(func(s step) error {
		if !s.after && slices.Contains(refused, s.op) {
			return sys.Unsupported
		}
		if s.op == "close" && !after {
			return nil // a descriptor is closed whatever close says
		}
		if s.after == after && s.op != "probe" && s.op != "pause" {
			if count++; count == n && k < len(answers[s.op]) {
				*hit = failedStep{s.op, s.name, answers[s.op][k], after}
				return hit.kind
			}
		}
		return nil
	})
	s.pauseFor = true
	return s, hit
}

type outcome struct{ acquired, released error }

func acquireAndRelease(t *testing.T, s *stepped, path string) (o outcome) {
	t.Helper()
	l, err := acquireFor(t, s, newProcess(), path, Wait(0))
	if err != nil {
		return outcome{acquired: err}
	}
	return outcome{released: l.Release()}
}

func checkAfterFailure(t *testing.T, where, path string, initial []string, hit failedStep, o outcome) {
	t.Helper()
	for _, err := range []error{o.acquired, o.released} {
		var failed *Error
		var held *HeldError
		if err != nil && !errors.As(err, &failed) && !errors.As(err, &held) {
			t.Errorf("%s: %v does not say what and where", where, err)
		}
	}
	left := entries(t, path)
	ours := slices.DeleteFunc(slices.Clone(left), func(e string) bool { return slices.Contains(initial, e) })
	// a name that could not be taken away, or a file that came into being although its making failed, is left
	excused := hit.op == "remove" || hit.op == "createNew" && hit.after ||
		o.released != nil || hit.op == "lstat" // without a look nothing is removed
	if !excused {
		assert.Empty(t, ours, where)
	}
	if o.acquired == nil && o.released == nil && !excused {
		assert.NotContains(t, left, "settings.json.lock", where)
	}
	if isEmptyFile(t, path, left) {
		assert.True(t, hit.op == "createNew" && hit.after, "%s left an empty file", where)
		return
	}
	l, err := try(t, path)
	if err != nil && runtime.GOOS != "linux" && o.released != nil {
		return // without an attribute, a lock of ours is not judged while we live
	}
	require.NoError(t, err, "after %s, which left %v", where, left)
	require.NoError(t, l.Release())
}
