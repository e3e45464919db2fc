//go:build unix

package main

import (
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// catchable are the signals that a CMD may want to handle.
var catchable = forwarded

// heedSignals lets the processes of the tests start as from a shell, also if the tests run under nohup or in a script's
// background: a signal that is ignored stays so from process to process, one that is caught does not.
func heedSignals() {
	for _, sig := range forwarded {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
}

func signalName(state *os.ProcessState) string {
	status := state.Sys().(syscall.WaitStatus)
	switch {
	case !status.Signaled():
		return ""
	case status.CoreDump():
		return unix.SignalName(status.Signal()) + " with a core dump"
	}
	return unix.SignalName(status.Signal())
}

func toolSignal(args []string) error {
	text, err := os.ReadFile(args[1])
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return err
	}
	sig := unix.SignalNum(args[0])
	if sig == 0 {
		return fmt.Errorf("no signal %s", args[0])
	}
	return syscall.Kill(pid, sig)
}
