package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/holdfast-go/holdfast/filelock"
)

var longAgo = time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.FixedZone("", 3600))

// TestEventLines: all fields in each line, in this order; null for what is unknown or does not apply.
func TestEventLines(t *testing.T) {
	var out strings.Builder
	s := &status{to: &out, file: "a\nb", now: func() time.Time { return longAgo }}
	s.report(event{Event: "acquired"})
	code := 0
	s.report(event{Event: "error", Time: longAgo.Add(time.Second), PID: 7, Command: "vi", Code: &code, Signal: "SIGINT", Message: "why"})
	assert.Equal(t, `{"event":"acquired","time":"2026-01-02T02:04:05.678Z","file":"a\nb","pid":null,"command":null,"code":null,"signal":null,"message":null}
{"event":"error","time":"2026-01-02T02:04:06.678Z","file":"a\nb","pid":7,"command":"vi","code":0,"signal":"SIGINT","message":"why"}
`, out.String())
	(*status)(nil).report(event{})
	(*status)(nil).waiting(filelock.Holder{})
	(*status)(nil).finish(errors.New("x"), 1, "x", 0)
}

// TestWaitingEvents: at once, then when the holder changes, but not more than one in a second.
func TestWaitingEvents(t *testing.T) {
	var out strings.Builder
	now := longAgo
	s := &status{to: &out, now: func() time.Time { return now }}
	count := func() int { return strings.Count(out.String(), `"waiting"`) }
	h := filelock.Holder{PID: 7, State: filelock.Alive}
	for range 100 {
		s.waiting(h)
		now = now.Add(200 * time.Millisecond)
	}
	assert.Equal(t, 1, count())
	for range 100 { // 20 s
		h.PID++
		s.waiting(h)
		now = now.Add(200 * time.Millisecond)
	}
	assert.Equal(t, 1+20, count())
}

type failing struct{ writes int }

func (f *failing) Write([]byte) (int, error) {
	f.writes++
	return 0, errors.New("nobody reads")
}

// TestReaderGone: it is not told any more.
func TestReaderGone(t *testing.T) {
	var f failing
	s := &status{to: &f, now: time.Now}
	s.report(event{Event: "acquired"})
	s.report(event{Event: "started"})
	assert.Equal(t, 1, f.writes)
}
