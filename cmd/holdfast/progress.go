package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// progress is what a person sees of a captured run: its output as it comes, and below that, on a terminal, one line with
// how long it takes and what it said last.
type progress struct {
	to    *messages
	what  string
	width func() int

	mu      sync.Mutex
	line    []byte // the line that is being printed
	last    string // the last one that said something
	started time.Time
	over    chan struct{} // closed when the line need not be shown any more; nil: it is not
	hidden  sync.WaitGroup
}

// longestLine is how much of an output line is kept, in bytes: no terminal shows more.
const longestLine = 512

func newProgress(to *messages, what string) *progress {
	return &progress{to: to, what: what, width: terminalWidth}
}

// through is a writer that passes on to one of our streams.
func (p *progress) through(to *os.File) io.Writer { return passing{p, to, isTerminal(to)} }

type passing struct {
	*progress
	to       io.Writer
	terminal bool
}

func (p passing) Write(text []byte) (int, error) {
	p.heed(text)
	return p.progress.to.pass(p.to, p.terminal, text)
}

// heed keeps the last line with something in it.
func (p *progress) heed(text []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(text) > 0 {
		part, rest, ended := text, []byte(nil), false
		if i := bytes.IndexAny(text, "\r\n"); i >= 0 {
			part, rest, ended = text[:i], text[i+1:], true
		}
		p.line = append(p.line, part[:min(len(part), longestLine-len(p.line))]...)
		if said := bytes.TrimSpace(p.line); len(said) > 0 {
			p.last = string(said)
		}
		if ended {
			p.line = p.line[:0]
		}
		text = rest
	}
}

func (p *progress) text(now time.Time) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := fmt.Sprintf("%s, %s", p.what, now.Sub(p.started).Truncate(time.Second))
	if p.last != "" {
		text += " — " + p.last
	}
	return text
}

// progressPace is how often the line is looked at; it is rewritten when it has changed.
const progressPace = 200 * time.Millisecond

// show keeps the line on the terminal until stop.
func (p *progress) show() {
	over := make(chan struct{})
	p.mu.Lock()
	p.started, p.over = time.Now(), over
	p.mu.Unlock()
	p.hidden.Go(func() {
		tick := time.NewTicker(progressPace)
		defer tick.Stop()
		for {
			p.to.rewrite(p.text(time.Now()), p.width())
			select {
			case <-tick.C:
			case <-over:
				p.to.clear()
				return
			}
		}
	})
}

// stop takes the line away, if it is shown.
func (p *progress) stop() {
	p.mu.Lock()
	over := p.over
	p.over = nil
	p.mu.Unlock()
	if over != nil {
		close(over)
		p.to.await(p.hidden.Wait)
	}
}
