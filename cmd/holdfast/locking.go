package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/holdfast-go/holdfast/filelock"
	"github.com/holdfast-go/holdfast/internal/sys"
)

// talking is how much a verb says.
type talking struct {
	Quiet   bool `short:"q" help:"Say nothing while waiting, nothing of a dead holder, and nothing of what CMD leaves behind."`
	Verbose bool `short:"v" help:"Show the steps of the protocol."`
}

// configure makes the flags count for c.
func (t talking) configure(c *call) { c.quiet, c.verbose = t.Quiet, t.Verbose }

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

func (l locking) wait() time.Duration {
	if l.NoWait {
		return 0
	}
	return time.Duration(*l.Wait)
}

// killing is what a verb does with a CMD that was asked to end and does not.
type killing struct {
	KillAfter *span `placeholder:"TIME" help:"Kill CMD if it goes on for so long after the first signal that asked it to end: 30s, 2m, a number of seconds. Without this flag it has all the time it takes."`
}

// configure makes the flag count for c.
func (k killing) configure(c *call) {
	if k.KillAfter == nil {
		return
	}
	c.patience = runPatience // whoever does not read our messages does not keep CMD alive
	c.signals.killAfter = (*time.Duration)(k.KillAfter)
	c.signals.onKill = func(asked syscall.Signal) {
		c.say("the command goes on %s after %s: it is killed", *c.signals.killAfter, nameOf(asked))
	}
}

// holding is an acquisition in the package's terms: how it waits, what it shows meanwhile, and why it stops early.
type holding struct {
	c      *call
	file   string
	pid    int // whom the lock names
	wait   time.Duration
	ctx    context.Context // ends with a signal, or with a nesting that would wait for itself
	cancel context.CancelCauseFunc
	show   *display
	lock   filelock.Lease // once it is held
}

// hold prepares to take file's lock for the process pid.
func (l locking) hold(c *call, file string, pid int) *holding {
	c.busyCode = int(l.BusyCode)
	h := &holding{c: c, file: file, pid: pid, wait: l.wait(), show: newDisplay(c.messages, file, l.wait())}
	h.ctx, h.cancel = context.WithCancelCause(c.signals.ctx)
	return h
}

func (h *holding) stop() { h.cancel(nil) }

// options are what the package is to be told.
func (h *holding) options() []filelock.Option {
	return []filelock.Option{
		filelock.Wait(h.wait), filelock.OnWait(h.waiting), filelock.Logger(h.c.logger()),
		filelock.OnAcquire(func(l *filelock.Lock) { h.acquired(l) }),
	}
}

func (h *holding) waiting(holder filelock.Holder) {
	if isNested(holder) {
		h.cancel(nested(h.file, holder))
		return
	}
	h.show.show(holder)
	h.c.status.waiting(holder)
}

func (h *holding) acquired(lock filelock.Lease) {
	h.lock = lock
	h.c.clear()
	h.c.status.report(event{Event: "acquired", PID: h.pid})
	t, ok := filelock.TakeoverOf(lock)
	if !ok {
		return
	}
	dead, pid := "a process", t.PID
	switch {
	case t.Foreign:
		dead, pid = fmt.Sprintf("PID %d of another PID namespace or boot", t.PID), 0
	case t.PID != 0:
		dead = fmt.Sprintf("PID %d", t.PID)
	}
	h.c.status.report(event{Event: "taken_over", PID: pid, Message: t.Proof})
	if !h.c.quiet {
		h.c.say("took over the lock of %s, which has exited: %s may be half done", dead, h.file)
	}
}

// drop gives up what was acquired, if anything was. Nothing ran under it, so a loss harmed nobody.
func (h *holding) drop() error {
	if h.lock == nil {
		return nil
	}
	err := h.lock.Release()
	h.released(err)
	if errors.Is(err, filelock.ErrLost) {
		return nil
	}
	return err
}

// released reports a release that the package has made, of which err is what it said.
func (h *holding) released(err error) {
	var step *filelock.Error
	if h.lock != nil && h.lock.Err() == filelock.ErrReleased && !errors.As(err, &step) {
		h.c.status.report(event{Event: "released", PID: h.pid})
	}
}

// acquire takes file's lock for ourselves.
func (l locking) acquire(c *call, file string) (*filelock.Lock, error) {
	h := l.hold(c, file, os.Getpid())
	defer h.stop()
	lock, err := filelock.Acquire(h.ctx, file, h.options()...)
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

// isNested reports whether the lock is held by a process that waits for us: one of our parents; or by ourselves, where we
// are what another of us was told to run.
func isNested(h filelock.Holder) bool {
	if h.Foreign || h.State != filelock.Alive && h.State != filelock.OtherUser {
		return false
	}
	for at, next := os.Getpid(), os.Getppid(); at > 0; at, next = next, sys.Parent(next) {
		if at == h.PID {
			return true
		}
	}
	return false
}

func nested(file string, h filelock.Holder) error {
	by := "locked by"
	if h.Hint {
		by = "locked, perhaps by"
	}
	text := fmt.Sprintf("%s is %s %s, one of our own parents%s", file, by, who(h), since(h))
	if h.PID == os.Getpid() {
		text = fmt.Sprintf("%s is locked already for this very command, PID %d%s", file, h.PID, since(h))
	}
	return &failure{exitStuck, text + ": waiting would never end; take the lock once, in the outermost command"}
}
