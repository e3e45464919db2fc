package main

import (
	"context"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"sync"
	"syscall"
)

// signals stands between the signals that this process gets and CMD. Signals that were ignored from the start stay
// ignored, for us and for CMD.
type signals struct {
	ctx    context.Context // ends with the cause killed once a signal asked us to end
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	command *os.Process // while CMD runs
}

func catchSignals() *signals {
	ctx, cancel := context.WithCancelCause(context.Background())
	s := &signals{ctx: ctx, cancel: cancel}
	var caught []os.Signal
	for _, sig := range slices.Concat(forwarded, survived) {
		if !signal.Ignored(sig) {
			caught = append(caught, sig)
		}
	}
	if len(caught) == 0 { // Notify would take an empty list for all signals
		return s
	}
	arriving := make(chan os.Signal, 16)
	signal.Notify(arriving, caught...)
	go func() {
		for sig := range arriving {
			s.handle(sig.(syscall.Signal))
		}
	}()
	return s
}

// handle passes sig on to CMD, except one from the terminal, which CMD got as well. A signal that asks to end counts for
// us too; the others do so only while there is no CMD that could want them.
func (s *signals) handle(sig syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case slices.Contains(survived, os.Signal(sig)):
		return
	case s.command == nil:
		if !slices.Contains(harmless, sig) {
			s.cancel(killed{sig})
		}
		return
	case !fromTerminal(sig):
		_ = s.command.Signal(sig) // fails only if CMD has just ended
	}
	if slices.Contains(ending, sig) {
		s.cancel(killed{sig})
	}
}

// start starts CMD, unless a signal came first.
func (s *signals) start(cmd *exec.Cmd) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return context.Cause(s.ctx)
	}
	if err := cmd.Start(); err != nil {
		return cannotRun(cmd.Args[0], err)
	}
	s.command = cmd.Process
	return nil
}

// ended is called when CMD has.
func (s *signals) ended() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.command = nil
}
