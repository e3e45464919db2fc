package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/holdfast-go/holdfast/filelock"
	"github.com/holdfast-go/holdfast/pluginrun"
)

// reporting is what a verb tells a script of itself.
type reporting struct {
	StatusFD *statusFD `name:"status-fd" placeholder:"N" help:"Write what happens to this open descriptor, 3 or higher, as lines of JSON; see above. CMD does not get it."`
}

// statusHelp is the contract of --status-fd, for the help of the verbs that have it.
const statusHelp = `

--status-fd N writes one JSON object per line, such as {"event":"exited","time":"2026-01-02T03:04:05.678Z","file":"plan",
"pid":4242,"command":null,"code":75,"signal":null,"message":null}. The events: waiting (pid, command: the holder), acquired
(pid: whom the lock names), taken_over (pid: the dead holder), started and exited (pid: CMD; code, or signal), released, and
at the end, if it is not CMD's, busy, stuck or error (code: ours; signal: what ended us; message: why). Each line has all
fields, null if unknown; later versions only add some. A reader that goes away does no harm.`

// statusFD is the number of an open descriptor that is not one of the standard streams.
type statusFD int

// UnmarshalText reads a number from 3 on.
func (s *statusFD) UnmarshalText(text []byte) error {
	n, err := strconv.ParseInt(string(text), 10, 32)
	if err != nil || n < 3 {
		return fmt.Errorf("%q is no descriptor to report to: give the number of an open one from 3 on", text)
	}
	*s = statusFD(n)
	return nil
}

// configure opens the way to whoever asked for a report.
func (r reporting) configure(c *call, verb, file string) error {
	if r.StatusFD == nil {
		return nil
	}
	to, err := openStatus(int(*r.StatusFD))
	if err != nil {
		return usage(verb, "--status-fd %d: %v", *r.StatusFD, err)
	}
	c.status = &status{to: to, file: file, now: time.Now}
	return nil
}

// status is the report of one run. A nil one is told in vain.
type status struct {
	file string
	now  func() time.Time

	mu     sync.Mutex
	to     io.Writer // nil when nobody reads any more
	shown  filelock.Holder
	at     time.Time // of the last waiting event
	exited bool
}

// event is one line. A zero field is null.
type event struct {
	Event   string
	Time    time.Time
	PID     int
	Command string
	Code    *int
	Signal  string
	Message string
}

// line is an event as it is written: each field in each line, null for what is unknown.
type line struct {
	Event   string  `json:"event"`
	Time    string  `json:"time"`
	File    string  `json:"file"`
	PID     *int    `json:"pid"`
	Command *string `json:"command"`
	Code    *int    `json:"code"`
	Signal  *string `json:"signal"`
	Message *string `json:"message"`
}

// milliseconds is the form of a time in a report: RFC 3339, of one length.
const milliseconds = "2006-01-02T15:04:05.000Z07:00"

func orNull[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// report writes e, of now if it has no time of its own.
func (s *status) report(e event) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write(e)
}

func (s *status) write(e event) {
	if e.Time.IsZero() {
		e.Time = s.now()
	}
	s.exited = s.exited || e.Event == "exited"
	text, err := json.Marshal(line{
		Event: e.Event, Time: e.Time.UTC().Format(milliseconds), File: s.file, PID: orNull(e.PID), Command: orNull(e.Command),
		Code: e.Code, Signal: orNull(e.Signal), Message: orNull(e.Message),
	})
	if err != nil || s.to == nil {
		return
	}
	if _, err := s.to.Write(append(text, '\n')); err != nil {
		s.to = nil
	}
}

// waiting reports who is in the way: at once, and when another one is, each second at most.
func (s *status) waiting(h filelock.Holder) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if !s.at.IsZero() && (same(h, s.shown) || now.Sub(s.at) < time.Second) {
		return
	}
	s.shown, s.at = h, now
	s.write(event{Event: "waiting", Time: now, PID: numberOf(h), Command: h.Command, Message: blockedBy(h, now)})
}

// numberOf is the number by which a holder can be found here; 0 if there is none.
func numberOf(h filelock.Holder) int {
	if h.Foreign {
		return 0
	}
	return h.PID
}

// ended reports the end of CMD, at this time.
func (s *status) ended(pid int, at time.Time, end error) {
	e := event{Event: "exited", Time: at, PID: pid}
	var own ended
	var dead killed
	switch {
	case errors.As(end, &dead):
		e.Signal = nameOf(dead.signal)
	case errors.As(end, &own), end == nil:
		e.Code = &own.code
	}
	s.report(e)
}

// finish reports how we end, if that is not how CMD ended.
func (s *status) finish(err error, code int, text string, signal syscall.Signal) {
	if s == nil || s.exited && signal != 0 && text == "" || signal == 0 && text == "" {
		return
	}
	e := event{Event: eventOf(err), Message: text}
	switch {
	case signal == 0:
		e.Code = &code
	case text == "":
		e.Message = killed{signal}.Error()
		fallthrough
	default:
		e.Signal = nameOf(signal)
	}
	var held *filelock.HeldError
	if errors.As(err, &held) {
		e.PID, e.Command = numberOf(held.Holder), held.Holder.Command
	}
	var active *pluginrun.ActiveError
	if errors.As(err, &active) {
		e.PID = int(active.PID)
	}
	s.report(e)
}

// eventOf tells the ends that a retry or a person can help from the others.
func eventOf(err error) string {
	switch code, _, _ := outcome(err, exitBusy); code {
	case exitBusy:
		return "busy"
	case exitStuck:
		return "stuck"
	}
	return "error"
}
