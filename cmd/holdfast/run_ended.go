package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-go/holdfast/pluginrun"
)

// becameOf says what a person should know of a run, and returns how we end.
func (r *profileRun) becameOf(result *pluginrun.Result, end, err error) error {
	if result != nil {
		r.sayOthers(result)
	}
	var missing *pluginrun.NotFoundError
	var start *pluginrun.StartError
	switch {
	case errors.As(err, &missing) && missing.Path != "":
		return &failure{exitNotFound, missing.Error()}
	case errors.As(err, &missing):
		return cannotRun(r.name, missing.Err)
	case errors.As(err, &start):
		return cannotRun(r.name, start.Err)
	case errors.Is(err, pluginrun.ErrReentrant):
		return &failure{exitStuck, fmt.Sprintf("a run in %s is what we are part of: waiting for it would never end; start this one when that one has ended", r.dir)}
	case err != nil:
		r.sayLost(result)
		return err
	case result.ExitCode < 0:
		return &failure{exitNotStarted, fmt.Sprintf("how %s ended could not be found out%s", shortened(r.name, longestCommand), r.undone(result))}
	case end != nil:
		r.sayLost(result)
		r.c.say("%s", r.failed(result, end))
		if cause := context.Cause(r.c.signals.ctx); cause != nil { // CMD was the first to know
			return cause
		}
	case result.OutputErr != nil:
		return &failure{exitIO, fmt.Sprintf("%s has succeeded, and what it did stays; but %s", shortened(r.name, longestCommand), lostOutput(result))}
	}
	return end
}

// sayLost says that output was lost, where that is not how we end.
func (r *profileRun) sayLost(result *pluginrun.Result) {
	if result != nil && result.OutputErr != nil {
		r.c.say("%s", lostOutput(result))
	}
}

func lostOutput(result *pluginrun.Result) string {
	return fmt.Sprintf("its output was not all passed on: %v; all of it is in %s", reason(result.OutputErr), result.Log)
}

// failed says how CMD failed, what that changed, and where to read on.
func (r *profileRun) failed(result *pluginrun.Result, end error) string {
	text := shortened(r.name, longestCommand)
	var dead killed
	if errors.As(end, &dead) {
		text += " was ended by " + nameOf(dead.signal)
	} else {
		text += fmt.Sprintf(" failed with exit code %d", result.ExitCode)
	}
	return text + r.undone(result)
}

// undone says what the end of a run that did not succeed changed.
func (r *profileRun) undone(result *pluginrun.Result) (text string) {
	if len(result.Restored) > 0 {
		text += fmt.Sprintf("; restored %s in %s", strings.Join(result.Restored, ", "), r.dir)
	} else {
		text += fmt.Sprintf("; the manifest and the lockfiles in %s had not changed", r.dir)
	}
	if result.Log != "" {
		text += "; its output is in " + result.Log
	}
	return text
}
