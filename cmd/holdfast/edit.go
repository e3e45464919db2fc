package main

import (
	"bytes"
	"errors"
	"os"

	"github.com/holdfast-go/holdfast/atomicwrite"
	"github.com/holdfast-go/holdfast/filelock"
	"github.com/holdfast-go/holdfast/internal/child"
)

type editVerb struct {
	operands
	Create *string `placeholder:"TEXT" help:"What CMD reads if FILE does not exist, as it stands: no newline is added. Without this flag a missing FILE is an error (66)."`
	replacing
	locking
	killing
	reporting
	talking
}

// Help is the verb's part of the contract.
func (*editVerb) Help() string {
	return `CMD reads FILE on standard input, and what it prints replaces FILE in one step if it succeeds. All of that happens
under FILE's lock, so that of several edits at once each sees the changes of those before it. If CMD fails, its exit code
is ours and FILE is what it was. CMD must not take the same lock.

The lock names us, and we wait for CMD's output until CMD and everything that it left behind have closed it, or a signal
asked us to end and CMD has ended.` + statusHelp
}

func (*editVerb) commandIsOptional() bool { return false }

// Run has CMD make the new content out of the old one.
func (v *editVerb) Run(c *call) error {
	v.talking.configure(c)
	v.killing.configure(c)
	if err := v.reporting.configure(c, "edit", v.File); err != nil {
		return err
	}
	cmd, err := lookUp(v.Command)
	if err != nil {
		return err
	}
	if err := v.permit(v.File); err != nil {
		return err
	}
	h := v.hold(c, v.File, os.Getpid())
	defer h.stop()
	mode, opts := v.options()
	made, ran := false, false
	err = atomicwrite.Update(h.ctx, v.File, mode, func(old []byte, exists bool) (next []byte, err error) {
		ran = true
		next, err = v.edited(c, cmd, old, exists)
		made = err == nil
		return next, err
	}, append(opts, atomicwrite.Locking(h.options()...))...)
	h.released(err)
	var failed *atomicwrite.Error
	var left *filelock.Error
	switch {
	case made && err != nil && !errors.As(err, &failed):
		return &unreleased{v.File, err}
	case ran && errors.As(err, &left): // it was not released, beside what err says first
		c.say("%v", left)
	}
	return h.refused(err)
}

// edited is CMD's output for this content.
func (v *editVerb) edited(c *call, cmd *child.Spec, old []byte, exists bool) ([]byte, error) {
	if err := v.matches(v.File, old, exists); err != nil {
		return nil, err
	}
	if !exists {
		if v.Create == nil {
			return nil, &failure{exitNoFile, v.File + " does not exist; --create TEXT says what to start from"}
		}
		old = []byte(*v.Create)
	}
	var next bytes.Buffer
	if err := c.output(cmd, bytes.NewReader(old), &sink{to: &next}); err != nil {
		return nil, err
	}
	if err := v.permit(v.File); err != nil {
		return nil, err
	}
	return next.Bytes(), v.refuseEmpty(v.File, "the command printed nothing", int64(next.Len()))
}
