package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/holdfast-go/holdfast/internal/child"
	"github.com/holdfast-go/holdfast/internal/sys"
)

// lookUp finds CMD, before anything is waited for.
func lookUp(command []string) (*child.Spec, error) {
	path, err := exec.LookPath(command[0])
	if err != nil {
		return nil, cannotRun(command[0], err)
	}
	return &child.Spec{Path: path, Args: command, Env: child.Environ(), Files: [3]*os.File{os.Stdin, os.Stdout, os.Stderr}}, nil
}

// cannotRun says why CMD did not start.
func cannotRun(name string, err error) error {
	switch {
	case errors.Is(err, exec.ErrDot):
		return &failure{exitNotFound, fmt.Sprintf("cannot run %s: only an entry of PATH that is no absolute path has it; to mean that one, give its path, such as ./%s", name, name)}
	case errors.Is(err, exec.ErrNotFound):
		return &failure{exitNotFound, fmt.Sprintf("cannot run %s: not found in PATH", name)}
	case sys.IsKind(err, sys.NotExist, sys.NotDirectory):
		return &failure{exitNotFound, fmt.Sprintf("cannot run %s: no such file, or it names an interpreter that is missing", name)}
	case errors.Is(err, fs.ErrPermission):
		return &failure{exitNotExecutable, fmt.Sprintf("cannot run %s: it is not executable", name)}
	case sys.IsKind(err, sys.IsDirectory):
		return &failure{exitNotExecutable, fmt.Sprintf("cannot run %s: it is a directory", name)}
	case isNoProgram(err):
		return &failure{exitNotExecutable, fmt.Sprintf("cannot run %s: it is no program of this system; a script needs a first line such as #!/bin/sh", name)}
	}
	return &failure{exitNotStarted, fmt.Sprintf("cannot start %s: %v", name, reason(err))}
}

// reason is the system's own word in err.
func reason(err error) error {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno
	}
	return err
}

// output runs CMD with what from has on its standard input, if there is one, and its standard output going to into. An error
// of writing there is the answer even if CMD ends well, or by the broken pipe; so is a signal that asked us to end, which
// also keeps us from waiting for the output of what CMD left behind.
func (c *call) output(cmd *child.Spec, from io.Reader, into *sink) error {
	var p pipes
	defer p.close()
	if err := p.drain(cmd, into); err != nil {
		return cannotRun(cmd.Args[0], err)
	}
	if from != nil {
		if err := p.feed(cmd, from); err != nil {
			return cannotRun(cmd.Args[0], err)
		}
	}
	err := c.run(cmd, &p)
	switch {
	case into.err != nil:
		return into.err
	case err != nil:
		return err
	}
	return context.Cause(c.signals.ctx)
}

// run starts CMD, passes signals on to it, and waits for its end, nil, ended or killed, and for that of its streams.
func (c *call) run(cmd *child.Spec, p *pipes) error {
	var process *os.Process
	err := c.signals.begin(func() (*os.Process, error) {
		var err error
		if process, err = child.StartUngated(*cmd); err != nil {
			return nil, cannotRun(cmd.Args[0], err)
		}
		return process, nil
	})
	served := p.started()
	if err == nil {
		c.status.report(event{Event: "started", PID: process.Pid})
		err = howEnded(process.Wait())
		c.signals.ended()
		c.status.ended(process.Pid, time.Now(), err)
	}
	select {
	case <-served:
	case <-c.signals.ctx.Done():
		p.close()
		<-served
	}
	return err
}

// howEnded turns how a process ended into the end of CMD: nil, ended or killed.
func howEnded(state *os.ProcessState, err error) error {
	if err != nil {
		return err
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return killed{status.Signal()}
	}
	if code := state.ExitCode(); code != 0 {
		return ended{code}
	}
	return nil
}

// sink counts what is written and keeps the first error.
type sink struct {
	to      io.Writer
	written int64
	err     error
}

func (s *sink) Write(p []byte) (int, error) {
	n, err := s.to.Write(p)
	s.written += int64(n)
	if s.err == nil {
		s.err = err
	}
	return n, err
}
