package main

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
)

// steps is a log handler: each thing that the packages log is a message, with key=value as often as needed. Warnings of
// package pluginrun are for everybody, all else is for those who asked for more: what package filelock warns of, a takeover
// or a loss, the verbs say in words of their own.
type steps struct {
	to   *messages
	with string // the attributes of all records
}

func (s steps) Enabled(_ context.Context, level slog.Level) bool {
	return s.to.verbose || level >= slog.LevelWarn
}

func (s steps) Handle(_ context.Context, r slog.Record) error {
	if !s.to.verbose && !isOfRun(r) {
		return nil
	}
	text := r.Message + s.with
	r.Attrs(func(a slog.Attr) bool {
		text += attribute(a)
		return true
	})
	s.to.say("%s", text)
	return nil
}

// isOfRun reports whether package pluginrun logged r.
func isOfRun(r slog.Record) bool {
	from, _ := runtime.CallersFrames([]uintptr{r.PC}).Next()
	return strings.Contains(from.Function, "/pluginrun.")
}

func (s steps) WithAttrs(attrs []slog.Attr) slog.Handler {
	for _, a := range attrs {
		s.with += attribute(a)
	}
	return s
}

// WithGroup drops the name: the packages log no groups.
func (s steps) WithGroup(string) slog.Handler { return s }

func attribute(a slog.Attr) string {
	value := a.Value.String()
	if strings.ContainsAny(value, " =\"") {
		value = fmt.Sprintf("%q", value)
	}
	return " " + a.Key + "=" + value
}
