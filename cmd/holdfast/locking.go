package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/holdfast-go/holdfast/filelock"
)

// talking is how much a verb says.
type talking struct {
	Quiet   bool `short:"q" help:"Say nothing while waiting, and nothing of a dead holder."`
	Verbose bool `short:"v" help:"Show the steps of the protocol."`
}

// locking is how a verb takes FILE's lock.
type locking struct {
	Wait     *waitTime `placeholder:"TIME" help:"How long to wait for the lock: 30s, 2m, a number of seconds, 0 for one try, forever. $$HOLDFAST_WAIT or 2m if not given."`
	NoWait   bool      `short:"n" help:"One try, as --wait 0."`
	BusyCode exitCode  `short:"E" default:"75" placeholder:"CODE" help:"End with this code instead of 75 if the lock is busy."`
}

const defaultWait = 2 * time.Minute

// AfterApply settles the wait when all flags are known.
func (l *locking) AfterApply() error {
	if l.Wait != nil {
		return nil
	}
	w := waitTime(defaultWait)
	l.Wait = &w
	if env := os.Getenv("HOLDFAST_WAIT"); env != "" {
		if err := w.UnmarshalText([]byte(env)); err != nil {
			return fmt.Errorf("HOLDFAST_WAIT: %w", err)
		}
	}
	return nil
}

// configure makes the flags count for c.
func (t talking) configure(c *call) { c.quiet, c.verbose = t.Quiet, t.Verbose }

func (l locking) wait() time.Duration {
	if l.NoWait {
		return 0
	}
	return time.Duration(*l.Wait)
}

// holding is an acquisition in the package's terms: how it waits, what it shows meanwhile, and why it stops early.
type holding struct {
	ctx  context.Context
	opts []filelock.Option
	stop context.CancelFunc
	file string
}

// hold prepares to take file's lock. The context ends with a signal, or with a nesting that would wait for itself.
func (l locking) hold(c *call, file string) *holding {
	c.busyCode = int(l.BusyCode)
	ctx, cancel := context.WithCancelCause(c.signals.ctx)
	display := newDisplay(c.messages, file, l.wait())
	waiting := func(h filelock.Holder) {
		if isNested(h) {
			cancel(nested(file, h))
			return
		}
		display.show(h)
	}
	return &holding{
		ctx:  ctx,
		opts: []filelock.Option{filelock.Wait(l.wait()), filelock.OnWait(waiting), filelock.Logger(c.logger(file))},
		stop: func() { cancel(nil) },
		file: file,
	}
}

// acquire takes file's lock.
func (l locking) acquire(c *call, file string) (*filelock.Lock, error) {
	h := l.hold(c, file)
	defer h.stop()
	lock, err := filelock.Acquire(h.ctx, file, h.opts...)
	c.clear()
	return lock, h.refused(err)
}

// refused is err, except that a nesting is told from other holders also where there was no wait.
func (h *holding) refused(err error) error {
	var held *filelock.HeldError
	if errors.As(err, &held) && isNested(held.Holder) {
		return nested(h.file, held.Holder)
	}
	return err
}

// isNested reports whether the lock is held by a process that waits for us: one of our parents.
func isNested(h filelock.Holder) bool {
	return (h.State == filelock.Alive || h.State == filelock.OtherUser) && isParent(h.PID)
}

func nested(file string, h filelock.Holder) error {
	return &failure{exitStuck, fmt.Sprintf(
		"%s is locked by %s, one of our own parents%s: waiting would never end; take the lock once, in the outermost command",
		file, who(h), since(h))}
}
