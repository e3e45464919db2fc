// Command holdfast replaces files in one step and keeps their writers apart, for people at a shell and for scripts. It is
// thin: every verb is a few calls of the packages atomicwrite, filelock and pluginrun.
//
// Standard output has the product only; messages go to standard error, one line each. The exit codes are in ending.go.
package main

import (
	"fmt"
	"os"
	"runtime/debug"

	"github.com/holdfast-go/holdfast/internal/child"
)

func main() {
	child.Gate()
	c := &call{messages: newMessages(os.Stderr)}
	end(c, c.do(os.Args[1:]))
}

// call is one run of the command: its command line's common flags, its messages, its signals, and what it reports of itself.
type call struct {
	*messages
	signals *signals
	status  *status // nil: nobody asked for it
}

// do parses and runs one command line.
func (c *call) do(args []string) error {
	return c.guarded(func() error {
		verb, err := parse(args, os.Stdout)
		if verb == nil || err != nil {
			return err
		}
		c.signals = catchSignals()
		return verb.Run(c)
	})
}

// guarded turns a panic, which is a bug of ours, into an error, after the deferred clean-ups.
func (c *call) guarded(run func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			c.detail("%s", debug.Stack())
			err = &failure{exitBug, fmt.Sprintf("internal error: %s; please report it, with the output of this command under -v", shortened(fmt.Sprint(p), 100))}
		}
	}()
	return run()
}
