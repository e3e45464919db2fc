package main

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
)

// steps is a log handler: each thing that the packages log is a message, with key=value as often as needed. Warnings are for
// everybody, except those that the verbs say in words of their own, all else is for those who asked for more.
type steps struct {
	to   *messages
	with string // the attributes of all records
}

func (s steps) Enabled(_ context.Context, level slog.Level) bool {
	return s.to.verbose || level >= slog.LevelWarn
}

func (s steps) Handle(_ context.Context, r slog.Record) error {
	if !s.to.verbose && isSaidByVerbs(r) {
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

// saidByVerbs are the beginnings of what package filelock says of a takeover and of a loss.
var saidByVerbs = []string{"took over the lock", "the last holder ended", "adopted the claim", "lock was taken away"}

func isSaidByVerbs(r slog.Record) bool {
	return slices.ContainsFunc(saidByVerbs, func(text string) bool { return strings.HasPrefix(r.Message, text) })
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
