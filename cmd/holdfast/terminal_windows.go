package main

import (
	"os"

	"golang.org/x/sys/windows"
)

// isTerminal reports whether f is a console, and if it is one's screen, whether that understands the escape sequences of
// rewriting.
func isTerminal(f *os.File) bool {
	var mode uint32
	if windows.GetConsoleMode(windows.Handle(f.Fd()), &mode) != nil {
		return false
	}
	var info windows.ConsoleScreenBufferInfo
	if windows.GetConsoleScreenBufferInfo(windows.Handle(f.Fd()), &info) != nil {
		return true // the keyboard, whose echo has the number of the sequences
	}
	return windows.SetConsoleMode(windows.Handle(f.Fd()), mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}

// terminalWidth is how many characters fit on a line of the console that standard error is; 0 if unknown.
func terminalWidth() int {
	var info windows.ConsoleScreenBufferInfo
	if windows.GetConsoleScreenBufferInfo(windows.Handle(os.Stderr.Fd()), &info) != nil {
		return 0
	}
	return int(info.Window.Right - info.Window.Left + 1)
}
