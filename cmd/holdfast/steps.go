package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
)

// steps is a log handler for those who asked for more: each thing that the packages log is a message, with key=value as
// often as needed.
type steps struct {
	to   *messages
	with string // the attributes of all records
}

func (s steps) Enabled(context.Context, slog.Level) bool { return s.to.verbose }

func (s steps) Handle(_ context.Context, r slog.Record) error {
	text := r.Message + s.with
	r.Attrs(func(a slog.Attr) bool {
		text += attribute(a)
		return true
	})
	s.to.detail("%s", text)
	return nil
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
