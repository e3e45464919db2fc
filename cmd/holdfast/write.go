package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/holdfast-go/holdfast/atomicwrite"
	"github.com/holdfast-go/holdfast/filelock"
	"github.com/holdfast-go/holdfast/internal/child"
)

type writeVerb struct {
	operands
	replacing
	Lock bool `help:"Hold FILE's lock: while CMD runs, or while FILE is replaced by standard input."`
	locking
	talking
}

// Help is the verb's part of the contract.
func (*writeVerb) Help() string {
	return `Readers of FILE see the old content or the new, whole, at every moment. The new content is first written to a
temporary file beside FILE, and nothing changes before it is complete: if CMD fails, its exit code is ours; if a signal
ends us, the temporary file is removed. CMD's output is complete when CMD and everything that it left behind have closed
it. Without --lock, others may replace FILE between the look of --if-match and the replacement.`
}

func (*writeVerb) commandIsOptional() bool { return true }

// Run fills a temporary file and puts it in FILE's place. CMD runs under the lock, since it may read FILE; standard input
// is read before the lock is taken, since whoever writes it may be slow.
func (v *writeVerb) Run(c *call) (err error) {
	v.talking.configure(c)
	var cmd *child.Spec
	if len(v.Command) > 0 {
		if cmd, err = lookUp(v.Command); err != nil {
			return err
		}
	}
	if err := v.ready(c, nil); err != nil {
		return err
	}
	home, _ := os.Stat(directoryOf(v.File))
	var lock *filelock.Lock
	defer func() {
		if lock == nil {
			return
		}
		var left *filelock.Error
		switch released := lock.Release(); {
		case released == nil:
		case err == nil:
			err = &unreleased{v.File, released}
		case errors.As(released, &left):
			c.say("%v", left)
		default: // it was lost
			err = errors.Join(err, released)
		}
	}()
	if v.Lock && cmd != nil {
		if lock, err = v.acquire(c, v.File); err != nil {
			return err
		}
		if err := isStill(home, v.File); err != nil {
			return err
		}
	}
	mode, opts := v.options()
	w, err := atomicwrite.Create(v.File, mode, opts...)
	if err != nil {
		return err
	}
	defer func() {
		if left := w.Close(); left != nil { // also beside the end of CMD or a signal, of which nothing is said
			c.say("%v", left)
		}
	}()
	if err := v.fill(c, cmd, &sink{to: w}); err != nil {
		return err
	}
	if v.Lock && cmd == nil {
		if lock, err = v.acquire(c, v.File); err != nil {
			return err
		}
	}
	if err := v.ready(c, lock); err != nil {
		return err
	}
	if lock != nil {
		if err := isStill(home, v.File); err != nil {
			return err
		}
	}
	return w.Commit()
}

// isStill refuses a file whose directory is not the one that it was at the beginning: the lock may be the other one's.
func isStill(home os.FileInfo, file string) error {
	now, err := os.Stat(directoryOf(file))
	if home == nil || err == nil && os.SameFile(home, now) {
		return nil
	}
	return &failure{exitIO, directoryOf(file) + " was moved or replaced meanwhile, and the lock is perhaps not that of " + file + " any more; try again"}
}

// ready is what must hold before anything is begun, and again directly before the replacement.
func (v *writeVerb) ready(c *call, lock *filelock.Lock) error {
	if err := v.permit(v.File); err != nil {
		return err
	}
	if v.IfMatch.given {
		if err := readable(v.File); err != nil {
			return err
		}
		content, err := atomicwrite.ReadFile(v.File)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := v.matches(v.File, content, err == nil); err != nil {
			return err
		}
	}
	if lock != nil {
		if err := lock.Check(); err != nil {
			return err
		}
	}
	return context.Cause(c.signals.ctx)
}

// fill writes the new content.
func (v *writeVerb) fill(c *call, cmd *child.Spec, into *sink) error {
	if cmd != nil {
		if err := c.output(cmd, nil, into); err != nil {
			return err
		}
		return v.refuseEmpty(v.File, "the command printed nothing", into.written)
	}
	if err := c.copyInput(into); err != nil {
		return err
	}
	return v.refuseEmpty(v.File, "standard input is empty", into.written)
}

// copyInput copies standard input to w until its end or until a signal. The reading itself cannot be stopped; what it
// still brings is dropped.
func (c *call) copyInput(w io.Writer) error {
	from, pipe := io.Pipe()
	go func() {
		_, err := io.Copy(pipe, os.Stdin)
		if err != nil {
			err = &failure{exitIO, "cannot read standard input: " + reason(err).Error()}
		}
		pipe.CloseWithError(err)
	}()
	stop := context.AfterFunc(c.signals.ctx, func() { pipe.CloseWithError(context.Cause(c.signals.ctx)) })
	defer stop()
	_, err := io.Copy(w, from)
	return err
}
