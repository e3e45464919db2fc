package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/atomicwrite"
	"github.com/holdfast-go/holdfast/filelock"
	"github.com/holdfast-go/holdfast/internal/sys"
	"github.com/holdfast-go/holdfast/pluginrun"
)

// longPath has what a message must neither be broken nor coloured by.
var longPath = "dir/" + strings.Repeat("settings", 20) + "\x1b[31m\n.yaml"

var longText = strings.Repeat("node 世界\x1b\n\xff", 50)

// heldErrors are all the ways in which a lock can be held.
func heldErrors() map[string]*filelock.HeldError {
	since := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	lock, claim := longPath+".lock", longPath+".lock.takeover-0123456789abcdef"
	holder := func(state filelock.State) filelock.Holder {
		return filelock.Holder{PID: 2147483647, State: state, Why: longText, Command: longText, Since: since}
	}
	hint := holder(filelock.OtherUser)
	hint.Hint = true
	const waited = 2*time.Minute + 100*time.Millisecond
	return map[string]*filelock.HeldError{
		"alive":       {Path: lock, Holder: holder(filelock.Alive), Waited: waited},
		"other user":  {Path: lock, Holder: holder(filelock.OtherUser), Waited: waited},
		"ourselves":   {Path: lock, Holder: holder(filelock.Ourselves), Waited: waited},
		"unproven":    {Path: lock, Holder: holder(filelock.Unproven), Waited: waited},
		"dead":        {Path: lock, Holder: holder(filelock.Dead), Waited: waited},
		"undeletable": {Path: lock, Holder: holder(filelock.Dead), Waited: waited, Err: sys.AccessDenied},
		"claimed":     {Path: lock, Holder: holder(filelock.Alive), Waited: waited, Claim: claim},
		"stuck claim": {Path: lock, Holder: holder(filelock.Unproven), Waited: waited, Claim: claim},
		"hint":        {Path: lock, Holder: hint, Waited: waited, Kernel: true},
		"unknown":     {Path: lock, Holder: holder(filelock.Unproven), Waited: waited, Kernel: true},
		"raced":       {Path: lock, Waited: waited},
	}
}

// TestMessages holds every message to one line of at most 300 bytes besides the paths in it.
func TestMessages(t *testing.T) {
	r := replacing{Symlink: "refuse", IfMatch: digest{given: true}}
	nestedIn := filelock.Holder{PID: 2147483647, State: filelock.OtherUser, Command: longText, Since: time.Now()}
	said := map[string]error{
		"no directory":       r.permit(longPath),
		"changed":            r.matches(longPath, []byte("x"), true),
		"missing":            r.matches(longPath, nil, false),
		"empty":              r.refuseEmpty(longPath, "the command printed nothing", 0),
		"nested":             nested(longPath, nestedIn),
		"lost":               &filelock.LostError{Path: longPath + ".lock", Found: "PID 2147483647 has it now"},
		"unreleased":         &unreleased{longPath, &filelock.LostError{Path: longPath + ".lock", Found: "PID 2147483647 has it now"}},
		"step":               &filelock.Error{Op: "open the directory to lock in", Path: longPath, Err: syscall.ENOENT},
		"writing":            &atomicwrite.Error{Op: "create a temporary file in the directory", Path: longPath, Err: syscall.ENOSPC},
		"joined":             errors.Join(&atomicwrite.Error{Op: "read it", Path: longPath, Err: syscall.EIO}, filelock.ErrLost),
		"not found":          cannotRun(longPath, exec.ErrNotFound),
		"found here":         cannotRun(longPath, exec.ErrDot),
		"no file":            cannotRun(longPath, syscall.ENOENT),
		"no permission":      cannotRun(longPath, fs.ErrPermission),
		"directory":          cannotRun(longPath, syscall.EISDIR),
		"too many processes": cannotRun(longPath, syscall.EAGAIN),
		"nested in CMD":      nested(longPath, filelock.Holder{PID: os.Getpid(), State: filelock.Alive, Command: longText, Since: time.Now()}),
		"panic":              (&call{messages: &messages{}}).guarded(func() error { panic(longText) }),
	}
	link := filepath.Join(t.TempDir(), "link")
	if hasLinks(t.TempDir()) {
		require.NoError(t, os.Symlink("x", link))
		said["symbolic link"] = r.permit(link)
	}
	for i, args := range badCommandLines {
		_, err := parse(args, new(bytes.Buffer))
		said[fmt.Sprintf("usage %d", i)] = err
	}
	for name, err := range heldErrors() {
		said[name] = err
	}
	for name, err := range runErrors() {
		said[name] = err
	}
	for name, err := range said {
		t.Run(name, func(t *testing.T) {
			require.Error(t, err)
			_, text, _ := outcome(err, exitBusy)
			assertMessage(t, text, longPath, link)
		})
	}
	for name, held := range heldErrors() {
		t.Run("waiting, "+name, func(t *testing.T) {
			d := newDisplay(&messages{}, longPath, time.Hour)
			assertMessage(t, d.text(held.Holder, time.Minute)+", Ctrl-C stops", longPath)
		})
	}
}

// runErrors are the ways in which a run can fail.
func runErrors() map[string]error {
	since := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	processes := slices.Repeat([]pluginrun.Process{{PID: 2147483647, Command: longText}}, 100)
	return map[string]error{
		"active run":     &pluginrun.ActiveError{Dir: longPath, Record: longPath, PID: 2147483647, Processes: processes, Since: since, Waited: time.Hour},
		"unproven run":   &pluginrun.ActiveError{Dir: longPath, Record: longPath, PID: 2147483647, Why: longText, Since: since, Waited: time.Hour},
		"unrecorded run": &pluginrun.ActiveError{Dir: longPath, PID: 2147483647, Processes: processes},
		"no run":         &pluginrun.RecordError{Record: longPath, Why: "its grouped is not true or false"},
		"idle":           &pluginrun.IdleError{Dir: longPath, Program: longPath, PID: 2147483647, Limit: 90 * time.Minute, Log: longPath},
		"cancelled":      &pluginrun.CancelledError{Dir: longPath, Program: longPath, PID: 2147483647, Err: context.Canceled, Cause: killed{syscall.SIGTERM}},
		"survivors":      &pluginrun.SurvivorsError{Dir: longPath, Record: longPath, Processes: processes, Err: killed{syscall.SIGTERM}},
		"lost run":       &pluginrun.LostError{Dir: longPath, Aside: longPath, Err: &filelock.LostError{Path: longPath + ".lock", Found: "PID 2147483647 has it now"}},
		"lost run, copies kept": &pluginrun.LostError{Dir: longPath, Err: &filelock.LostError{Path: longPath + ".lock", Found: "PID 2147483647 has it now"},
			Kept: &pluginrun.Error{Op: "set the copies aside", Path: longPath, Err: &os.LinkError{Op: "rename", Old: longPath, New: longPath, Err: syscall.EACCES}}},
		"a step of the run": &pluginrun.Error{Op: "restore", Path: longPath, Err: sys.NoSpace},
	}
}

// TestSaid holds what is said besides the last line to the same.
func TestSaid(t *testing.T) {
	processes := slices.Repeat([]pluginrun.Process{{PID: 2147483647, Command: longText}}, 100)
	said := &strings.Builder{}
	r := &profileRun{c: &call{messages: &messages{to: said}}, dir: longPath, name: longText, leftoverWait: time.Hour}
	text := func(say func()) string {
		said.Reset()
		say()
		return strings.TrimSuffix(strings.TrimPrefix(said.String(), "holdfast: "), "\n")
	}
	leftover := &pluginrun.Leftover{PID: 2147483647, Proof: "start-time-differs"}
	restored := []string{"package.json", "pnpm-lock.yaml", "package-lock.json", "pnpm-workspace.yaml"}
	for name, text := range map[string]string{
		"waits for a run": text(func() {
			r.leftover(&pluginrun.ActiveError{Dir: longPath, Record: longPath, PID: 1, Processes: processes})
		}),
		"waits for what may be a run": text(func() {
			r.leftover(&pluginrun.ActiveError{Dir: longPath, Record: longPath, PID: 1, Why: longText})
		}),
		"leftover":    text(func() { r.sayOthers(&pluginrun.Result{Leftover: leftover}) }),
		"output cut":  text(func() { r.sayOthers(&pluginrun.Result{OutputCut: true}) }),
		"left behind": text(func() { r.sayOthers(&pluginrun.Result{Survivors: processes}) }),
		"failed":      r.failed(&pluginrun.Result{ExitCode: 255, Restored: restored, Log: longPath}, ended{255}),
		"died":        r.failed(&pluginrun.Result{ExitCode: 137, Restored: restored, Log: longPath}, killed{syscall.SIGKILL}),
		"unchanged":   r.failed(&pluginrun.Result{ExitCode: 1, Log: longPath}, ended{1}),
	} {
		t.Run(name, func(t *testing.T) { assertMessage(t, text, longPath, strings.Join(restored, ", ")) })
	}
}

func assertMessage(t *testing.T, text string, paths ...string) {
	t.Helper()
	var b bytes.Buffer
	(&messages{to: &b}).say("%s", text)
	line := b.String()
	assert.True(t, strings.HasPrefix(line, "holdfast: "), line)
	assert.Equal(t, len(line)-1, strings.IndexByte(line, '\n'), "one line: %q", line)
	assert.NotContains(t, line, "\x1b")
	assert.True(t, utf8.ValidString(line))
	length := len(line)
	for _, path := range paths {
		for _, form := range []string{printable(path), printable(fmt.Sprintf("%q", path)[1 : len(fmt.Sprintf("%q", path))-1])} {
			length -= strings.Count(line, form) * len(form)
			line = strings.ReplaceAll(line, form, "")
		}
	}
	assert.LessOrEqual(t, length, 300, "%q", line)
}

// TestHeldAdvice: nobody is told to remove a lock whose holder may live.
func TestHeldAdvice(t *testing.T) {
	for name, err := range heldErrors() {
		_, text, _ := outcome(err, exitBusy)
		waiting := newDisplay(&messages{}, "f", time.Hour).text(err.Holder, time.Minute)
		for _, word := range []string{"rm", "repair", "--confirm", "remove", "delete"} {
			assert.NotRegexp(t, `(^|[^\w-])`+word+`\b`, strings.ReplaceAll(text, "cannot be removed", ""), name)
			assert.NotRegexp(t, `(^|[^\w-])`+word+`\b`, waiting, name)
		}
	}
	for _, name := range []string{"alive", "other user", "ourselves", "claimed"} {
		_, text, _ := outcome(heldErrors()[name], exitBusy)
		assert.Contains(t, text, "PID 2147483647", "the last line before 75 names the holder")
	}
}

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"plain 世界":     "plain 世界",
		"a\nb\tc":      `a\nb\tc`,
		"\x1b[31mred":  `\x1b[31mred`,
		"bad \xff end": `bad \xff end`,
		"\u202eright":  `\u202eright`,
		"\x00":         `\x00`,
		"it's \"so\" ": "it's \"so\" ",
	} {
		assert.Equal(t, want, printable(in))
	}
}

func TestShortened(t *testing.T) {
	assert.Equal(t, "short", shortened("short", 5))
	assert.Equal(t, "lo…", shortened("longer", 5))
	assert.Equal(t, "世…", shortened("世界世界", 8))
	assert.Equal(t, `a\n…`, shortened("a\nbcdef", 6))
}

func TestRewriting(t *testing.T) {
	var b bytes.Buffer
	m := &messages{to: &b, terminal: true}
	m.rewrite("waiting for a long time", 20)
	assert.Equal(t, "\rholdfast: waiting …\x1b[K", b.String())
	b.Reset()
	m.say("done")
	assert.Equal(t, "\r\x1b[Kholdfast: done\n", b.String(), "a message does not share the rewritten line")
	b.Reset()
	m.clear()
	assert.Empty(t, b.String())
}
