//go:build !unix

package main

import (
	"errors"
	"os"
	"syscall"
)

// forwarded is what can arrive at all: Ctrl-C and Ctrl-Break, and the end of the console, of the session or of the system. It
// cannot be passed on: where there is a console, it reaches CMD by itself.
var forwarded = []os.Signal{os.Interrupt, syscall.SIGTERM}

var (
	survived []os.Signal
	ending   = []syscall.Signal{syscall.SIGINT, syscall.SIGTERM}
	harmless []syscall.Signal
)

func fromTerminal(syscall.Signal) bool { return true }

func fromHangUp(syscall.Signal) bool { return false }

func inForeground() bool { return false }

func inOurGroup(int) bool { return true }

// dieBy returns: there is no dying by a signal, its exit code has to do.
func dieBy(syscall.Signal) {}

// nameOf is sig's name.
func nameOf(sig os.Signal) string { return sig.String() }

// isNoProgram reports whether the system found a file but no program in it.
func isNoProgram(err error) bool {
	const badExeFormat = syscall.Errno(193)
	return errors.Is(err, badExeFormat)
}
