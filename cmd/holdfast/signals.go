package main

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"
)

// signals stands between the signals that this process gets and CMD. HUP and INT that were ignored from the start stay
// ignored, for us and for CMD; the runtime of Go forgets of all others that they were.
type signals struct {
	ctx    context.Context // ends with the cause killed once a signal asked us to end
	cancel context.CancelCauseFunc

	killAfter  *time.Duration             // how long CMD may go on after it was asked to end; nil: as long as it likes
	onKill     func(asked syscall.Signal) // called before CMD is killed for that
	endsItself bool                       // CMD is ended by whoever watches ctx: no signal that asks for the end is passed on

	mu      sync.Mutex
	hangsUp bool        // the terminal's hang-up is still to come, if it comes
	command *os.Process // while CMD runs
	kill    *time.Timer // once it was asked to end
}

func catchSignals() *signals {
	ctx, cancel := context.WithCancelCause(context.Background())
	s := &signals{ctx: ctx, cancel: cancel, hangsUp: inForeground()}
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

// handle passes sig on to CMD, except one from the terminal, which CMD got as well. Whether others came to us alone is not
// known: what signals our whole group by itself, as timeout does, reaches CMD twice. A signal that asks to end counts for us
// too; the others do so only while there is no CMD that could want them.
func (s *signals) handle(sig syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	asksToEnd := slices.Contains(ending, sig)
	switch {
	case slices.Contains(survived, os.Signal(sig)):
		return
	case s.command == nil:
		if !slices.Contains(harmless, sig) {
			s.cancel(killed{sig})
		}
		return
	case asksToEnd && s.endsItself:
	case !s.reachedCommand(sig):
		_ = s.command.Signal(sig) // fails only if CMD has just ended
	}
	if asksToEnd {
		s.cancel(killed{sig})
		s.killLater(sig)
	}
}

// reachedCommand reports whether sig came from the terminal, to CMD too.
func (s *signals) reachedCommand(sig syscall.Signal) bool {
	switch {
	case fromTerminal(sig):
		return inOurGroup(s.command.Pid)
	case s.hangsUp && fromHangUp(sig):
		s.hangsUp = false
		return inOurGroup(s.command.Pid)
	}
	return false
}

// killLater has CMD killed if it has not ended in time after the first signal that asked it to.
func (s *signals) killLater(asked syscall.Signal) {
	if s.killAfter == nil || s.kill != nil || s.endsItself {
		return
	}
	s.kill = time.AfterFunc(*s.killAfter, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.command != nil {
			s.onKill(asked)
			_ = s.command.Kill()
		}
	})
}

// begin has CMD started, unless a signal came first.
func (s *signals) begin(start func() (*os.Process, error)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil {
		return context.Cause(s.ctx)
	}
	command, err := start()
	s.command = command
	return err
}

// ended is called when CMD has.
func (s *signals) ended() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.command = nil
}
