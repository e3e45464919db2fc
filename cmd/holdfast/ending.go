package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/holdfast-go/holdfast/atomicwrite"
	"github.com/holdfast-go/holdfast/filelock"
	"github.com/holdfast-go/holdfast/internal/sys"
	"github.com/holdfast-go/holdfast/pluginrun"
)

// The exit codes besides 0 and those of CMD; from sysexits.h and the shell.
const (
	exitUsage         = 64
	exitRefused       = 65 // refused input
	exitNoFile        = 66 // no such FILE
	exitBug           = 70
	exitNotStarted    = 71 // the system cannot start a process
	exitCannotCreate  = 73
	exitIO            = 74 // old file intact
	exitBusy          = 75 // a retry helps
	exitStuck         = 76 // a person must act
	exitNotPermitted  = 77
	exitNotExecutable = 126
	exitNotFound      = 127
)

// failure is an end with an exit code of ours and a sentence for people; empty if it was said already.
type failure struct {
	code int
	text string
}

func (f *failure) Error() string { return f.text }

// ended is the end of CMD with a code of its own.
type ended struct{ code int }

func (ended) Error() string { return "the command failed" }

// killed is an end by a signal: CMD's, or ours.
type killed struct{ signal syscall.Signal }

func (k killed) Error() string { return "ended by signal: " + k.signal.String() }

// end ends the process as err says.
func end(c *call, err error) {
	code, text, signal := outcome(err, c.busyCode)
	if text != "" {
		c.say("%s", text)
	}
	c.clear()
	c.status.finish(err, code, text, signal)
	if signal != 0 {
		dieBy(signal)
	}
	os.Exit(code)
}

// outcome is what err means to the caller of the command: an exit code and a sentence, or a signal to die by.
func outcome(err error, busyCode int) (code int, text string, signal syscall.Signal) {
	var own *failure
	var cmd ended
	var dead killed
	var surviving *pluginrun.SurvivorsError
	var cancelled *pluginrun.CancelledError
	switch {
	case err == nil:
		return 0, "", 0
	case errors.As(err, &surviving):
		return exitStuck, sentence(err), 0
	case errors.As(err, &own):
		return own.code, own.text, 0
	case errors.Is(err, filelock.ErrLost): // however CMD ended, others may have come in between
		return exitStuck, sentence(err), 0
	case errors.As(err, &cmd):
		return cmd.code, "", 0
	case errors.As(err, &dead):
		if errors.As(err, &cancelled) && cancelled.PID != 0 { // something ran, and was undone
			text = sentence(err)
		}
		return 128 + int(dead.signal), text, dead.signal
	}
	code = codeOf(err)
	if code == exitBusy {
		code = busyCode
	}
	return code, sentence(err), 0
}

func codeOf(err error) int {
	var held *filelock.HeldError
	var active *pluginrun.ActiveError
	var record *pluginrun.RecordError
	var idle *pluginrun.IdleError
	switch {
	case errors.Is(err, filelock.ErrMisconfigured), errors.Is(err, pluginrun.ErrCopies), errors.As(err, &record), errors.As(err, &idle):
		return exitStuck
	case errors.As(err, &active):
		if len(active.Processes) == 0 { // nobody can tell whether it goes on
			return exitStuck
		}
		return exitBusy
	case errors.As(err, &held) && held.Err == nil:
		if held.Stuck() {
			return exitStuck
		}
		return exitBusy
	case errors.Is(err, context.Canceled):
		return exitBug // a context of ours ends with a cause
	case errors.Is(err, filelock.ErrInvalidPath):
		return exitUsage
	case errors.Is(err, atomicwrite.ErrIrregular), errors.Is(err, filelock.ErrUnsafePath):
		return exitCannotCreate
	}
	switch sys.KindOf(err) {
	case sys.NotPermitted, sys.AccessDenied:
		return exitNotPermitted
	case sys.NotExist, sys.NotDirectory, sys.IsDirectory, sys.Exists, sys.NoSpace, sys.ReadOnly, sys.NameTooLong, sys.Busy,
		sys.CrossDevice, sys.Loop, sys.Unsupported, sys.NoLocks:
		return exitCannotCreate
	}
	return exitIO
}

// sentence is err in one line: of errors that were joined, a lost lock, else the first. What a holder is told by is cut to
// fit.
func sentence(err error) string {
	var active *pluginrun.ActiveError
	var surviving *pluginrun.SurvivorsError
	var lostRun *pluginrun.LostError
	var lost *filelock.LostError
	var replaced *unreleased
	switch {
	case errors.As(err, &replaced):
		return fmt.Sprintf("%s; %s had its new content by then", sentence(replaced.err), replaced.file)
	case errors.As(err, &surviving) && len(surviving.Processes) == 0:
		return surviving.Error()
	case errors.As(err, &surviving):
		return fmt.Sprintf("what was started in %s does not end: %s; end it: the next run then restores the files, until then %s stays",
			surviving.Dir, named(surviving.Processes), surviving.Record)
	case errors.As(err, &active):
		return stillRunning(active)
	case errors.As(err, &lostRun):
		return lostRun.Error()
	case errors.As(err, &lost):
		return lost.Error()
	}
	var held *filelock.HeldError
	if errors.As(err, &held) {
		h := *held
		h.Holder.Command = shortened(h.Holder.Command, longestCommand)
		h.Holder.Why = shortened(h.Holder.Why, longestReason)
		return h.Error()
	}
	for strings.Contains(err.Error(), "\n") {
		joined, ok := err.(interface{ Unwrap() []error })
		if !ok {
			break
		}
		err = joined.Unwrap()[0]
	}
	return err.Error()
}
