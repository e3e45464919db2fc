package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/holdfast-go/holdfast/atomicwrite"
	"github.com/holdfast-go/holdfast/filelock"
	"github.com/holdfast-go/holdfast/internal/sys"
	"github.com/holdfast-go/holdfast/pluginrun"
)

// TestOutcome is the table of exit codes; the scripts show most of them from outside too.
func TestOutcome(t *testing.T) {
	held, runs := heldErrors(), runErrors()
	step := func(k sys.Kind) error { return &atomicwrite.Error{Op: "do it", Path: "f", Err: k} }
	for _, c := range []struct {
		name string
		err  error
		want int
	}{
		{"nothing", nil, 0},
		{"CMD's own code", ended{75}, 75},
		{"our failure, joined", errors.Join(&failure{exitNoFile, "x"}, filelock.ErrLost), exitNoFile},
		{"live holder", held["alive"], exitBusy},
		{"another user's", held["other user"], exitBusy},
		{"raced", held["raced"], exitBusy},
		{"live claimant", held["claimed"], exitBusy},
		{"unproven", held["unproven"], exitStuck},
		{"unproven claim", held["stuck claim"], exitStuck},
		{"dead holder's lock, not to be removed", held["undeletable"], exitNotPermitted},
		{"lost", fmt.Errorf("update: %w", &filelock.LostError{}), exitStuck},
		{"not released, though replaced", &unreleased{"f", step(sys.NotPermitted)}, exitNotPermitted},
		{"lost, though replaced", &unreleased{"f", &filelock.LostError{}}, exitStuck},
		{"path", filelock.ErrInvalidPath, exitUsage},
		{"irregular", &atomicwrite.Error{Err: atomicwrite.ErrIrregular}, exitCannotCreate},
		{"no directory", step(sys.NotExist), exitCannotCreate},
		{"read-only", step(sys.ReadOnly), exitCannotCreate},
		{"disk full", step(sys.NoSpace), exitCannotCreate},
		{"directory there", step(sys.IsDirectory), exitCannotCreate},
		{"loop", step(sys.Loop), exitCannotCreate},
		{"long name", step(sys.NameTooLong), exitCannotCreate},
		{"mount point", step(sys.Busy), exitCannotCreate},
		{"device error", step(sys.IO), exitIO},
		{"unknown", errors.New("x"), exitIO},
		{"permission", step(sys.AccessDenied), exitNotPermitted},
		{"not permitted", step(sys.NotPermitted), exitNotPermitted},
		{"no more processes", cannotRun("x", syscall.EAGAIN), exitNotStarted},
		{"too many files", cannotRun("x", syscall.EMFILE), exitNotStarted},
		{"CMD not permitted", cannotRun("x", fs.ErrPermission), exitNotExecutable},
		{"a context without a cause", context.Canceled, exitBug},
		{"active run", runs["active run"], exitBusy},
		{"unproven run", runs["unproven run"], exitStuck},
		{"record of no run", runs["no run"], exitStuck},
		{"copies that nobody can tell", &pluginrun.Error{Err: fmt.Errorf("%w: version 2", pluginrun.ErrCopies)}, exitStuck},
		{"silent run", runs["idle"], exitStuck},
		{"survivors, though a signal ended us", runs["survivors"], exitStuck},
		{"lost run", runs["lost run"], exitStuck},
		{"lost run, copies kept", runs["lost run, copies kept"], exitStuck},
		{"disk full in a run", runs["a step of the run"], exitCannotCreate},
	} {
		code, _, signal := outcome(c.err, exitBusy)
		assert.Equal(t, c.want, code, c.name)
		assert.Zero(t, signal, c.name)
	}
	code, _, _ := outcome(held["alive"], 9)
	assert.Equal(t, 9, code)
	code, _, _ = outcome(held["unproven"], 9)
	assert.Equal(t, exitStuck, code)
	code, text, signal := outcome(fmt.Errorf("wait: %w", killed{syscall.SIGTERM}), exitBusy)
	assert.Equal(t, 128+15, code)
	assert.Equal(t, syscall.SIGTERM, signal)
	assert.Empty(t, text)
	code, text, signal = outcome(runs["cancelled"], exitBusy)
	assert.Equal(t, 128+15, code)
	assert.Equal(t, syscall.SIGTERM, signal)
	assert.Contains(t, text, "was ended before it was done: ended by signal: terminated; its files are as before")
	_, text, _ = outcome(&pluginrun.CancelledError{Cause: killed{syscall.SIGTERM}}, exitBusy)
	assert.Empty(t, text, "nothing ran")
}

func TestSentence(t *testing.T) {
	a, b := errors.New("a"), errors.New("b")
	assert.Equal(t, "a", sentence(errors.Join(a, b)))
	assert.Equal(t, "a", sentence(errors.Join(errors.Join(nil, a), b)))
	assert.Equal(t, "a, b", sentence(fmt.Errorf("%w, %w", a, b)), "one error with two causes")
}

func TestPanicIsOurBug(t *testing.T) {
	c := &call{messages: &messages{to: io.Discard}}
	code, text, _ := outcome(c.guarded(func() error { panic("oops") }), exitBusy)
	assert.Equal(t, exitBug, code)
	assert.Contains(t, text, "internal error: oops")
	var b strings.Builder
	c = &call{messages: &messages{to: &b, verbose: true}}
	_ = c.guarded(func() error { panic("oops") })
	assert.Contains(t, b.String(), "TestPanicIsOurBug")
}

func TestDescribe(t *testing.T) {
	built := fmt.Sprintf(", %s, %s/%s", runtime.Version(), runtime.GOOS, runtime.GOARCH)
	info := &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}
	assert.Equal(t, "holdfast v1.2.3"+built, describe(info))
	info.Settings = []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "false"}}
	assert.Equal(t, "holdfast v1.2.3, revision abc"+built, describe(info))
	info.Settings[1].Value = "true"
	assert.Equal(t, "holdfast v1.2.3, revision abc with changes"+built, describe(info))
	assert.Equal(t, "holdfast (unknown)"+built, describe(&debug.BuildInfo{}))
}
