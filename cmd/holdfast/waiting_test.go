package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/holdfast-go/holdfast/filelock"
)

// watched is a display whose clock the test moves, and what it showed when.
type watched struct {
	*display
	out strings.Builder
	at  time.Duration
}

func newWatched(terminal bool, wait time.Duration) *watched {
	w := &watched{}
	m := &messages{to: &w.out, terminal: terminal}
	w.display = newDisplay(m, "settings.yaml", wait)
	w.now = func() time.Time { return w.started.Add(w.at) }
	w.width = func() int { return 200 }
	return w
}

// upTo calls show five times a second until the wait is this old, and returns the times at which something was shown.
func (w *watched) upTo(end time.Duration, h filelock.Holder) (shown []time.Duration) {
	for ; w.at <= end; w.at += 200 * time.Millisecond {
		before := w.out.Len()
		if w.show(h); w.out.Len() > before {
			shown = append(shown, w.at)
		}
	}
	return shown
}

func holderSince(w *watched, pid int, ago time.Duration) filelock.Holder {
	return filelock.Holder{PID: pid, State: filelock.Alive, Command: "node dsh serve", Since: w.started.Add(-ago)}
}

func TestWaitingElsewhere(t *testing.T) {
	w := newWatched(false, 2*time.Hour)
	first := holderSince(w, 4242, 2*time.Minute+3*time.Second)
	assert.Equal(t, []time.Duration{time.Second, 30 * time.Second, 2 * time.Minute}, w.upTo(4*time.Minute, first))
	assert.Equal(t, "holdfast: waiting for settings.yaml, locked by PID 4242 (node dsh serve) for 2m4s — 1s of 2h0m0s (--wait)\n",
		w.out.String()[:strings.Index(w.out.String(), "\n")+1])

	second := holderSince(w, 4243, 0)
	assert.Equal(t, []time.Duration{4*time.Minute + 1200*time.Millisecond, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute},
		w.upTo(16*time.Minute, second))
	second.State, second.Why = filelock.Unproven, "it is empty"
	assert.Equal(t, []time.Duration{16*time.Minute + 1200*time.Millisecond}, w.upTo(17*time.Minute, second))
	assert.Contains(t, w.out.String(), "whose lock proves nobody dead: it is empty — 16m1s of")

	// Holders that come and go are not worth a line each.
	for range 100 {
		second.PID++
		assert.Empty(t, w.upTo(w.at+600*time.Millisecond, second))
	}

	q := newWatched(false, time.Hour)
	q.to.quiet = true
	assert.Empty(t, q.upTo(time.Minute, first))
}

func TestWaitingOnTerminal(t *testing.T) {
	w := newWatched(true, 2*time.Minute)
	h := holderSince(w, 4242, 2*time.Minute+3*time.Second)
	assert.Equal(t, []time.Duration{1 * time.Second, 2 * time.Second, 3 * time.Second, 4 * time.Second}, w.upTo(4900*time.Millisecond, h))
	w.out.Reset()
	w.at = 7 * time.Second
	w.show(h)
	assert.Equal(t, "\rholdfast: waiting for settings.yaml, locked by PID 4242 (node dsh serve) for 2m10s — 7s of 2m0s, Ctrl-C stops\x1b[K",
		w.out.String())
}

func TestBlockedBy(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ago := now.Add(-90 * time.Second)
	for _, c := range []struct {
		want string
		h    filelock.Holder
	}{
		{"locked by PID 7 (vi x) for 1m30s", filelock.Holder{PID: 7, State: filelock.Alive, Command: "vi x", Since: ago}},
		{"locked by PID 7 of another user for 1m30s", filelock.Holder{PID: 7, State: filelock.OtherUser, Since: ago}},
		{"locked by PID 7", filelock.Holder{PID: 7, State: filelock.Alive}},
		{"locked by PID 7 of another PID namespace or machine", filelock.Holder{PID: 7, State: filelock.Alive, Foreign: true}},
		{"locked by PID 7", filelock.Holder{PID: 7, State: filelock.Alive, Since: now.Add(time.Hour)}}, // a clock was set back
		{"locked, perhaps by PID 7 (vi x)", filelock.Holder{PID: 7, State: filelock.Alive, Hint: true, Command: "vi x", Since: ago}},
		{"left by PID 7, which has exited", filelock.Holder{PID: 7, State: filelock.Dead, Command: "never shown", Since: ago}},
		{"whose lock proves nobody dead: it is text", filelock.Holder{State: filelock.Unproven, Why: "it is text"}},
		{"taken by others at each try", filelock.Holder{}},
	} {
		assert.Equal(t, c.want, blockedBy(c.h, now))
	}
	assert.ErrorContains(t, nested("f", filelock.Holder{PID: 7, State: filelock.Alive, Hint: true}), "f is locked, perhaps by PID 7, one of our own parents")
	assert.ErrorContains(t, nested("f", filelock.Holder{PID: 7, State: filelock.Alive}), "f is locked by PID 7, one of our own parents")
	w := newWatched(false, filelock.Forever)
	assert.Equal(t, "waiting for settings.yaml, taken by others at each try — 1m0s", w.text(filelock.Holder{}, time.Minute))
}
