package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/holdfast-go/holdfast/internal/child"
)

// gated is CMD behind a gate: first a process that waits and has the number that CMD will have, then CMD.
type gated struct {
	*child.Child
	name   string
	others *descendants
	over   chan struct{} // closed when it has ended
	reaped bool          // it is reaped then; its end is below
	state  *os.ProcessState
	err    error
}

// startGated starts the process that waits.
func startGated(cmd *child.Spec) (*gated, error) {
	others := watchDescendants()
	c, err := child.Start(*cmd)
	if err != nil {
		return nil, cannotRun(cmd.Args[0], err)
	}
	g := &gated{Child: c, name: cmd.Args[0], others: others, over: make(chan struct{})}
	go func() {
		defer close(g.over)
		if others.awaitEnd(c) != nil {
			// There is a moment in which a contender takes the lock for a dead holder's: that CMD's work is done is true then.
			g.reaped = true
			g.state, g.err = c.Reap()
		}
	}()
	return g, nil
}

func (g *gated) hasEnded() bool {
	select {
	case <-g.over:
		return true
	default:
		return false
	}
}

// reap lets go of the process after its end: nil, ended or killed.
func (g *gated) reap() error {
	if !g.reaped {
		g.state, g.err = g.Reap()
	}
	return howEnded(g.state, g.err)
}

// open has the waiting process become CMD, unless a signal came first: then it is ended. From now on signals are CMD's, also
// while it is not CMD yet: they end the one as they would the other.
func (g *gated) open(c *call) error {
	if err := c.signals.begin(func() (*os.Process, error) { return g.Process(), nil }); err != nil {
		g.Abandon()
		return err
	}
	if err := g.Open(); err != nil {
		c.signals.ended()
		if cause := context.Cause(c.signals.ctx); cause != nil { // the process that waited got that signal as well
			return cause
		}
		return cannotRun(g.name, err)
	}
	c.status.report(event{Event: "started", PID: g.PID()})
	return nil
}

// endedEarly says what became of a process that was to become CMD, unless that is what became of us too.
func (c *call) endedEarly(g *gated) error {
	end := g.reap()
	if c.signals.ctx.Err() != nil {
		return context.Cause(c.signals.ctx)
	}
	var dead killed
	switch {
	case !errors.As(end, &dead):
		return &failure{exitNotStarted, fmt.Sprintf("cannot start %s: PID %d, which was to become it, has ended; nothing ran", g.name, g.PID())}
	case !fromTerminal(dead.signal):
		c.say("PID %d, which was to become %s, was ended by %s; nothing ran", g.PID(), shortened(g.name, longestCommand), nameOf(dead.signal))
	}
	return dead
}
