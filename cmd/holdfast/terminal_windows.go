package main

import (
	"os"

	"golang.org/x/sys/windows"
)

// isTerminal reports whether f is a console that understands the escape sequences of rewriting.
func isTerminal(f *os.File) bool {
	var mode uint32
	return windows.GetConsoleMode(windows.Handle(f.Fd()), &mode) == nil &&
		windows.SetConsoleMode(windows.Handle(f.Fd()), mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}

// terminalWidth is how many characters fit on a line of the console that standard error is; 0 if unknown.
func terminalWidth() int {
	var info windows.ConsoleScreenBufferInfo
	if windows.GetConsoleScreenBufferInfo(windows.Handle(os.Stderr.Fd()), &info) != nil {
		return 0
	}
	return int(info.Window.Right - info.Window.Left + 1)
}
