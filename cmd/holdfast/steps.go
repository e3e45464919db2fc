package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
)

// steps is a log handler for what the packages do with one file's lock: a takeover becomes a message; everything is one,
// with key=value as often as needed, for those who asked for more.
type steps struct {
	to   *messages
	file string
	with string // the attributes of all records
}

func (s steps) Enabled(_ context.Context, level slog.Level) bool {
	return s.to.verbose || level >= slog.LevelWarn
}

func (s steps) Handle(_ context.Context, r slog.Record) error {
	text, takeover, pid := r.Message+s.with, strings.HasPrefix(r.Message, "took over the lock"), ""
	r.Attrs(func(a slog.Attr) bool {
		text += attribute(a)
		if a.Key == "pid" {
			pid = a.Value.String()
		}
		return true
	})
	s.to.detail("%s", text)
	if takeover && !s.to.quiet {
		s.to.say("took over the lock of PID %s, which has exited: %s may be half done", pid, s.file)
	}
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
