//go:build !unix && !windows

package child

import (
	"errors"
	"os"
)

// Gate does nothing here.
func Gate() {}

// Start is not supported here.
func Start(Spec) (*Child, error) { return nil, errors.ErrUnsupported }

// StartUngated is not supported here.
func StartUngated(Spec) (*os.Process, error) { return nil, errors.ErrUnsupported }

// Environ is the environment of this process.
func Environ() []string { return os.Environ() }

type gate struct{}

func (gate) open() error { return errors.ErrUnsupported }
func (gate) close()      {}
