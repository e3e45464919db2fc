package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/holdfast-go/holdfast/filelock"
)

// display is what a person sees of a wait: nothing at first, then on a terminal one line that is rewritten, elsewhere a
// line now and then.
type display struct {
	to      *messages
	file    string
	wait    time.Duration
	now     func() time.Time
	width   func() int
	started time.Time
	second  int             // of the wait, that a terminal shows
	seen    filelock.Holder // who is in the way now
	first   time.Duration   // when that was first seen
	shown   filelock.Holder // whom the last line named
	next    time.Duration   // when the next line is due
}

// silent is how long a wait shows nothing.
const silent = time.Second

// Lines of a wait that is not on a terminal are due after silent, when another holder has been there for as long, at the
// first two of these and then at every multiple of the third.
const (
	firstReminder  = 30 * time.Second
	secondReminder = 2 * time.Minute
	everyReminder  = 5 * time.Minute
)

func newDisplay(to *messages, file string, wait time.Duration) *display {
	return &display{to: to, file: file, wait: wait, now: time.Now, width: terminalWidth, started: time.Now(), next: silent}
}

// show is called several times a second with whoever is in the way.
func (d *display) show(h filelock.Holder) {
	waited := d.now().Sub(d.started)
	if !same(h, d.seen) {
		d.seen, d.first = h, waited
	}
	if d.to.quiet {
		return
	}
	if d.to.terminal {
		if second := int(waited / time.Second); second != d.second {
			d.second = second
			d.to.rewrite(d.text(h, waited)+", Ctrl-C stops", d.width())
		}
		return
	}
	changed := !same(h, d.shown) && waited-d.first >= silent
	if !changed && waited < d.next {
		return
	}
	d.shown = h
	d.next = due(waited)
	d.to.say("%s (--wait)", d.text(h, waited))
}

func same(a, b filelock.Holder) bool { return a.PID == b.PID && a.State == b.State }

// due is when the line after one at this time of the wait comes.
func due(waited time.Duration) time.Duration {
	switch {
	case waited < firstReminder:
		return firstReminder
	case waited < secondReminder:
		return secondReminder
	default:
		return waited.Truncate(everyReminder) + everyReminder
	}
}

func (d *display) text(h filelock.Holder, waited time.Duration) string {
	limit := " of " + d.wait.String()
	if d.wait == filelock.Forever {
		limit = ""
	}
	return fmt.Sprintf("waiting for %s, %s — %s%s", d.file, blockedBy(h, d.now()), waited.Truncate(time.Second), limit)
}

// blockedBy says why the lock is not to be had.
func blockedBy(h filelock.Holder, now time.Time) string {
	switch {
	case h.State == filelock.Unproven:
		return "whose lock proves nobody dead: " + shortened(h.Why, longestReason)
	case h.PID == 0:
		return "taken by others at each try"
	case h.Hint:
		return "locked, perhaps by " + who(h)
	case h.State == filelock.Dead:
		return "left by PID " + strconv.Itoa(h.PID) + ", which has exited"
	case h.Since.IsZero() || now.Before(h.Since):
		return "locked by " + who(h)
	}
	return "locked by " + who(h) + " for " + now.Sub(h.Since).Truncate(time.Second).String()
}

// who names a live holder.
func who(h filelock.Holder) string {
	s := "PID " + strconv.Itoa(h.PID)
	if h.Command != "" {
		s += " (" + shortened(h.Command, longestCommand) + ")"
	}
	switch {
	case h.Foreign:
		s += " of another PID namespace or machine"
	case h.State == filelock.OtherUser:
		s += " of another user"
	}
	return s
}

func since(h filelock.Holder) string {
	if h.Since.IsZero() {
		return ""
	}
	return ", since " + h.Since.UTC().Format(time.RFC3339)
}

// How much of foreign text a message has room for, in bytes.
const (
	longestCommand = 80
	longestReason  = 95
)

// shortened is foreign text, printable and of at most so many bytes.
func shortened(s string, most int) string {
	s = printable(s)
	if len(s) <= most {
		return s
	}
	cut := 0
	for i := range s {
		if i > most-len("…") {
			break
		}
		cut = i
	}
	return s[:cut] + "…"
}
