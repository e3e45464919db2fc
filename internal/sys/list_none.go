//go:build !linux

package sys

import "os"

// Processes is [Unsupported] here.
func Processes() ([]Listed, error) { return nil, Unsupported }

// Environment is [Unsupported] here.
func Environment(int) ([]byte, error) { return nil, Unsupported }

// SignalProcess is [Unsupported] here.
func SignalProcess(Listed, os.Signal) error { return Unsupported }

// BecomeReaper is [Unsupported] here.
func BecomeReaper() error { return Unsupported }
