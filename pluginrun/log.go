package pluginrun

import (
	"context"
	"log/slog"
)

// logger costs nothing where nobody listens.
type logger struct{ to *slog.Logger }

func (l logger) debug(msg string, args ...any) { l.say(slog.LevelDebug, msg, args) }
func (l logger) info(msg string, args ...any)  { l.say(slog.LevelInfo, msg, args) }
func (l logger) warn(msg string, args ...any)  { l.say(slog.LevelWarn, msg, args) }

func (l logger) say(level slog.Level, msg string, args []any) {
	if l.to != nil {
		l.to.Log(context.Background(), level, msg, args...)
	}
}
