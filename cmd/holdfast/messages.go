package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
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
	standing bool // a line that can be rewritten is shown
}

func newMessages(to *os.File) *messages {
	return &messages{to: to, terminal: isTerminal(to), busyCode: exitBusy}
}

// say writes one line. Whatever the text has in it that does not print is escaped.
func (m *messages) say(format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wipe()
	fmt.Fprintf(m.to, "holdfast: %s\n", printable(fmt.Sprintf(format, args...)))
}

// detail is say for those who asked for more.
func (m *messages) detail(format string, args ...any) {
	if m.verbose {
		m.say(format, args...)
	}
}

// rewrite shows text in place of what the last rewrite showed, cut so that it fits one line of the terminal.
func (m *messages) rewrite(text string, width int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	line := []rune("holdfast: " + printable(text))
	if width > 1 && len(line) >= width {
		line = append(line[:width-2], '…')
	}
	fmt.Fprintf(m.to, "\r%s\x1b[K", string(line))
	m.standing = true
}

// clear removes what rewrite showed last.
func (m *messages) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wipe()
}

func (m *messages) wipe() {
	if m.standing {
		fmt.Fprint(m.to, "\r\x1b[K")
		m.standing = false
	}
}

// logger is where the packages log what happens to file's lock.
func (m *messages) logger(file string) *slog.Logger { return slog.New(steps{m, file, ""}) }

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
