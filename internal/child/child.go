// Package child starts programs behind a gate, and finds and ends all that came of them.
//
// A child exists, with the number it will keep, before its program runs: [Start] starts a stub that waits, [Child.Open] lets
// it become the program. If this process dies before that, the stub ends and the program never runs. So a record that
// names the child can be on disk before there is anything to record.
//
// The stub is the calling program itself, started again, if its main begins with [Gate]. Otherwise it is /bin/sh.
package child

import (
	"errors"
	"os"
)

// Spec is what to start.
type Spec struct {
	Path  string   // the program's file; nothing is looked up
	Args  []string // its arguments, the name it is called by first; a shell as a stub calls it by its path
	Env   []string // its environment, byte for byte
	Dir   string   // its working directory; empty: ours
	Files [3]*os.File
	Group bool // it leads a process group of its own, which no terminal stops or signals; see Start
}

// completed is s with the name that a program needs, and with an environment even if there is nothing in it. A missing
// directory is an error here: that of starting in it would not say what is missing.
func (s Spec) completed() (Spec, error) {
	if len(s.Args) == 0 {
		s.Args = []string{s.Path}
	}
	if s.Env == nil {
		s.Env = []string{}
	}
	if s.Dir != "" {
		if _, err := os.Stat(s.Dir); err != nil {
			return s, err
		}
	}
	return s, nil
}

// Child is a started process: the stub, then the program.
type Child struct {
	process *os.Process
	gate    gate
}

// PID is the process number of the stub, which the program keeps.
func (c *Child) PID() int { return c.process.Pid }

// Process is for signals.
func (c *Child) Process() *os.Process { return c.process }

// errEnded says that a stub has ended before it had read that it may go on.
var errEnded = errors.New("the process that was to become it has ended")

// Open lets the program start and returns when it has. An error is the system's for why it cannot be executed; the child
// has ended and is reaped then. On Windows this is an error of [Start] already. The shell's stub cannot report such an
// error: it ends with 126 or 127 later, and runs a file in no format of the system's as a script of its own.
func (c *Child) Open() error {
	err := c.gate.open()
	if err == errEnded && !exitedByItself(c.process) {
		err = nil // by a signal that was meant for the program, and faster: the end tells
	}
	if err != nil {
		c.Abandon()
	}
	return err
}

// Abandon ends a child whose program does not run yet, and reaps it.
func (c *Child) Abandon() {
	c.gate.close()
	_ = c.process.Kill()
	_, _ = c.process.Wait()
}

// Wait waits for the child's end and leaves it unreaped, so that its number still means it. An error says nothing of the
// child: the system cannot do that, ever or now, and only Reap waits.
func (c *Child) Wait() error { return waitUnreaped(c.process) }

// Reap waits for the child's end and returns how it ended. Its number may be used again afterwards.
func (c *Child) Reap() (*os.ProcessState, error) { return c.process.Wait() }

// Close forgets the child, which goes on: its tree cannot be asked any more.
func (c *Child) Close() { c.gate.close() }
