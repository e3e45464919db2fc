//go:build unix

package main

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/holdfast-go/holdfast/internal/sys"
)

// forwarded are the signals that CMD is to get as if it had been started without us.
var forwarded = []os.Signal{
	syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGCONT,
	syscall.SIGWINCH,
}

// survived are signals that must not end us nor reach CMD: the reader of our messages may be gone while CMD runs.
var survived = []os.Signal{syscall.SIGPIPE}

// ending are the forwarded ones that ask a program to end, harmless those that end no program by themselves.
var (
	ending   = []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}
	harmless = []syscall.Signal{syscall.SIGCONT, syscall.SIGWINCH}
)

// fromTerminal reports whether sig is taken for a key pressed at the terminal, which signals the whole foreground group
// and so CMD as well. The sender is not known: one who sends INT or QUIT to us alone, while we are in the foreground, does
// not reach CMD.
func fromTerminal(sig syscall.Signal) bool {
	return (sig == syscall.SIGINT || sig == syscall.SIGQUIT) && inForeground()
}

// fromHangUp reports whether sig is taken for the end of the terminal that we were in the foreground of: that signals the
// whole group, unless we lead the session, whose leader alone is told by the system. One who sends HUP to us alone, as the
// first after the terminal has gone, does not reach CMD.
func fromHangUp(sig syscall.Signal) bool {
	session, err := unix.Getsid(0)
	return sig == syscall.SIGHUP && err == nil && session != os.Getpid() && !hasTerminal()
}

// inOurGroup reports whether what signals our group signals that process.
func inOurGroup(pid int) bool {
	theirs, err := unix.Getpgid(pid)
	return err == nil && theirs == ourGroup()
}

func ourGroup() int {
	group, _ := unix.Getpgid(0) // nothing keeps us from knowing
	return group
}

func hasTerminal() bool {
	tty, err := os.OpenFile("/dev/tty", os.O_RDONLY|unix.O_NOCTTY, 0)
	if err != nil {
		return !errors.Is(err, syscall.ENXIO)
	}
	tty.Close()
	return true
}

// inForeground reports whether the terminal's keys signal our group.
func inForeground() bool {
	tty, err := os.OpenFile("/dev/tty", os.O_RDONLY|unix.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	defer tty.Close()
	foreground, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	if err != nil {
		return false
	}
	return foreground == ourGroup()
}

// dieBy ends this process by sig; it returns only if that is not possible.
func dieBy(sig syscall.Signal) { sys.DieBy(sig) }

// nameOf is sig's name, such as SIGTERM.
func nameOf(sig os.Signal) string { return sys.SignalName(sig.(syscall.Signal)) }

// isNoProgram reports whether the system found a file but no program in it.
func isNoProgram(err error) bool { return errors.Is(err, syscall.ENOEXEC) }
