package main

import (
	"errors"
	"time"

	"github.com/holdfast-go/holdfast/filelock"
)

type lockVerb struct {
	operands
	kind
	locking
	killing
	reporting
	talking
}

// Help is the verb's part of the contract.
func (*lockVerb) Help() string {
	return `No other program that asks for FILE's lock has it while CMD runs. FILE itself need not exist, its directory must.
CMD is looked up before anything is waited for, gets our standard streams, and the signals that are sent to us; we end as
it ends, after the lock is released. A key or the hang-up of the terminal reaches it once; what is sent to our whole process
group, as timeout sends it, reaches it by itself and through us.

The lock names CMD: if we are killed, it stays held until CMD ends, and the next contender takes it over. Processes that
CMD leaves behind do not hold the lock. They are named in one warning: on Linux all of them, on Windows those that did not
leave CMD's job, elsewhere none.

With --kind kernel FILE is the lock itself, a file that is made once and stays, whatever is in it, and the system's own lock
on it is taken, as flock does; with --kind named FILE is any name, for this machine and --scope. Both are ours and not
CMD's: if we are killed, they are free while CMD goes on. The three kinds do not exclude each other.` + statusHelp
}

func (*lockVerb) commandIsOptional() bool { return false }

// AfterApply refuses flags that contradict each other.
func (v *lockVerb) AfterApply() error {
	if err := v.kind.validate(); err != nil {
		return err
	}
	return v.locking.AfterApply()
}

// Run holds the lock for as long as CMD runs.
func (v *lockVerb) Run(c *call) error {
	v.talking.configure(c)
	v.killing.configure(c)
	if err := v.reporting.configure(c, "lock", v.File); err != nil {
		return err
	}
	cmd, err := lookUp(v.Command)
	if err != nil {
		return err
	}
	g, err := startGated(cmd)
	if err != nil {
		return err
	}
	h := v.hold(c, v.File, g.PID())
	defer h.stop()
	go func() {
		<-g.over
		h.stop() // nobody is left to hold a lock for
	}()
	lock, err := v.kind.acquire(h, v.File)
	switch {
	case g.hasEnded():
		return errors.Join(c.endedEarly(g), h.drop())
	case err != nil:
		g.Abandon()
		return h.refused(err)
	}
	if err := g.open(c); err != nil {
		return errors.Join(err, h.drop())
	}
	return c.runHolding(lock, h.pid, g)
}

// runHolding waits for CMD's end under the lock, which names the process pid, and releases it before CMD is reaped: a process
// that was reaped is a dead holder to others. A loss counts only while CMD runs; it is said at once, since CMD goes on.
func (c *call) runHolding(lock filelock.Lease, pid int, g *gated) error {
	lost := c.awaitEnd(lock, g)
	at := time.Now()
	c.signals.ended()
	err := lock.Release()
	released := time.Now()
	end := g.reap()
	c.status.ended(g.PID(), at, end)
	if errors.Is(err, filelock.ErrLost) {
		err = nil
	} else if err == nil {
		c.status.report(event{Event: "released", Time: released, PID: pid})
	}
	g.warnOfOthers(c)
	switch {
	case lost:
		return &failure{code: exitStuck}
	case err != nil && end != nil:
		c.say("%s", sentence(err))
		return end
	case err != nil:
		return err
	}
	return end
}

// awaitEnd returns when CMD has ended, and whether the lock was lost before that.
func (c *call) awaitEnd(lock filelock.Lease, g *gated) (lost bool) {
	select {
	case <-g.over:
		if err := check(lock); err != nil {
			c.lost(err, "")
			return true
		}
		return false
	case <-lock.Done():
		c.lost(lock.Err(), "; the command is left to finish")
		<-g.over
		return true
	}
}

func (c *call) lost(err error, next string) {
	stuck := exitStuck
	c.status.report(event{Event: "stuck", Code: &stuck, Message: err.Error()})
	c.say("%v%s", err, next)
}
