package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestProgressText(t *testing.T) {
	p := newProgress(&messages{}, "pnpm")
	p.started = longAgo
	now := longAgo.Add(90*time.Second + time.Millisecond)
	assert.Equal(t, "pnpm, 1m30s", p.text(now), "nothing was said yet")
	for _, c := range []struct{ printed, want string }{
		{"first\n", "first"},
		{"\n  \n", "first"},
		{"half", "half"},
		{" a line\nnext", "next"},
		{"\rover it", "over it"},
		{"\r\n", "over it"},
		{strings.Repeat("x", 2*longestLine), strings.Repeat("x", longestLine)},
		{"more\n", strings.Repeat("x", longestLine)},
		{"\x1b[31mred\n", "\x1b[31mred"},
	} {
		p.heed([]byte(c.printed))
		assert.Equal(t, "pnpm, 1m30s — "+c.want, p.text(now))
	}
}

// TestPassing: what passes and what is rewritten do not share a line of the terminal.
func TestPassing(t *testing.T) {
	var b strings.Builder
	m := &messages{to: &b, terminal: true}
	m.rewrite("1s", 0)
	_, _ = m.pass(&b, true, []byte("half"))
	m.rewrite("2s", 0)
	assert.Equal(t, "\rholdfast: 1s\x1b[K\r\x1b[Khalf", b.String())
	b.Reset()
	_, _ = m.pass(&b, true, []byte(" a line\n"))
	m.rewrite("3s", 0)
	m.rewrite("3s", 0)
	assert.Equal(t, " a line\n\rholdfast: 3s\x1b[K", b.String())
	b.Reset()
	_, _ = m.pass(&b, false, []byte("into a file"))
	assert.Equal(t, "into a file", b.String(), "nothing is wiped for what the terminal does not show")
	b.Reset()
	_, _ = m.pass(&b, true, []byte("half"))
	m.say("done")
	assert.Equal(t, "\r\x1b[Khalf\nholdfast: done\n", b.String())
}
