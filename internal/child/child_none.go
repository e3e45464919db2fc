//go:build !unix && !windows

package child

import "errors"

// Gate does nothing here.
func Gate() {}

// Start is not supported here.
func Start(Spec) (*Child, error) { return nil, errors.ErrUnsupported }

type gate struct{}

func (gate) open() error { return errors.ErrUnsupported }
func (gate) close()      {}
