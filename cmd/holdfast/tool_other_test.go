//go:build !unix

package main

import (
	"errors"
	"os"
)

var catchable = forwarded

func heedSignals() {}

func nameOf(sig os.Signal) string { return sig.String() }

func signalName(*os.ProcessState) string { return "" }

func toolSignal([]string) error { return errors.ErrUnsupported }
