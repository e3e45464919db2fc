package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

// messages is standard error: whole lines that begin with "holdfast: ", and on a terminal one last line that is
// rewritten. It may be used by several goroutines.
type messages struct {
	quiet    bool // no waiting lines, no takeovers
	verbose  bool // protocol steps too
	busyCode int  // the exit code that stands for exitBusy

	to       io.Writer
	terminal bool
	mu       sync.Mutex
	standing string // the line that is shown and can be rewritten; empty: none
	midline  bool   // what passed last to the terminal does not end a line

	patience time.Duration // how long a message may keep us waiting for who reads it; 0: as long as it takes
	queue    sync.Mutex    // keeps messages in order
	stuck    chan struct{} // closed when the message that took too long has been written; nil: none did
}

func newMessages(to *os.File) *messages {
	return &messages{to: to, terminal: isTerminal(to), busyCode: exitBusy}
}

// say writes one line. Whatever the text has in it that does not print is escaped.
func (m *messages) say(format string, args ...any) {
	m.inTime(func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.wipe()
		if m.midline {
			fmt.Fprintln(m.to)
			m.midline = false
		}
		fmt.Fprintf(m.to, "holdfast: %s\n", printable(fmt.Sprintf(format, args...)))
	})
}

// inTime calls f, which may wait for who reads our standard error, as for a terminal that is held. If it takes too long it
// goes on by itself, and as long as it does nothing more is said.
func (m *messages) inTime(f func()) {
	m.queue.Lock()
	defer m.queue.Unlock()
	select {
	case <-m.stuck:
	default:
		if m.stuck != nil {
			return
		}
	}
	m.stuck = m.await(f)
}

// await calls f. If that takes longer than we are patient, it returns what is closed when f returns.
func (m *messages) await(f func()) (going chan struct{}) {
	if m.patience == 0 {
		f()
		return nil
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	late := time.NewTimer(m.patience)
	defer late.Stop()
	select {
	case <-done:
		return nil
	case <-late.C:
		return done
	}
}

// detail is say for those who asked for more.
func (m *messages) detail(format string, args ...any) {
	if m.verbose {
		m.say(format, args...)
	}
}

// pass writes what another printed to one of our streams. What goes to a terminal does not share a line with ours.
func (m *messages) pass(to io.Writer, terminal bool, text []byte) (int, error) {
	if !m.terminal || !terminal || len(text) == 0 {
		return to.Write(text)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wipe()
	m.midline = text[len(text)-1] != '\n'
	return to.Write(text)
}

// rewrite shows text in place of what the last rewrite showed, cut so that it fits one line of the terminal; nothing while
// another's line is not complete.
func (m *messages) rewrite(text string, width int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.midline {
		return
	}
	line := []rune("holdfast: " + printable(text))
	if width > 1 && len(line) >= width {
		line = append(line[:width-2], '…')
	}
	if text := string(line); text != m.standing {
		fmt.Fprintf(m.to, "\r%s\x1b[K", text)
		m.standing = text
	}
}

// clear removes what rewrite showed last.
func (m *messages) clear() {
	m.inTime(func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.wipe()
	})
}

func (m *messages) wipe() {
	if m.standing != "" {
		fmt.Fprint(m.to, "\r\x1b[K")
		m.standing = ""
	}
}

// logger is where the packages log what happens.
func (m *messages) logger() *slog.Logger { return slog.New(steps{m, ""}) }

// printable is text with every character escaped that would not print on one line.
func printable(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		i += size
	}
	return b.String()
}
