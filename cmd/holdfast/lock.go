package main

import (
	"errors"
	"os/exec"

	"github.com/holdfast-go/holdfast/filelock"
)

type lockVerb struct {
	operands
	locking
	talking
}

// Help is the verb's part of the contract.
func (*lockVerb) Help() string {
	return `No other program that asks for FILE's lock has it while CMD runs. FILE itself need not exist, its directory must.
CMD is looked up before anything is waited for, gets our standard streams, and the signals that are sent to us; we end as
it ends, after the lock is released. Processes that CMD leaves behind do not hold the lock.`
}

func (*lockVerb) commandIsOptional() bool { return false }

// Run holds the lock for as long as CMD runs.
func (v *lockVerb) Run(c *call) error {
	v.configure(c)
	cmd, err := lookUp(v.Command)
	if err != nil {
		return err
	}
	lock, err := v.acquire(c, v.File)
	if err != nil {
		return err
	}
	end, lost := c.runHolding(lock, cmd)
	err = lock.Release()
	switch {
	case lost:
		return &failure{code: exitStuck}
	case err == nil:
		return end
	case end != nil && !errors.Is(err, filelock.ErrLost):
		c.say("%s", sentence(err))
		return end
	}
	return err
}

// runHolding runs CMD to its end. That the lock is lost meanwhile is said at once, since CMD goes on.
func (c *call) runHolding(lock *filelock.Lock, cmd *exec.Cmd) (end error, lost bool) {
	over, said := make(chan struct{}), make(chan bool)
	go func() {
		select {
		case <-lock.Done():
			c.say("%v; the command is left to finish", lock.Err())
			said <- true
		case <-over:
			said <- false
		}
	}()
	end = c.run(cmd)
	close(over)
	return end, <-said
}
