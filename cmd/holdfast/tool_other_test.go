//go:build !unix

package main

import (
	"errors"
	"os"
)

var catchable = forwarded

func heedSignals() {}

func signalName(*os.ProcessState) string { return "" }

func toolSignal([]string) error { return errors.ErrUnsupported }
