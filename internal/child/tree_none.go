//go:build !unix && !windows

package child

import "errors"

// Members knows nothing here.
func (*Tree) Members() ([]Member, error) { return nil, errors.ErrUnsupported }

// Terminate does nothing here.
func (*Tree) Terminate(Asked) {}

// Kill does nothing here.
func (*Tree) Kill() {}
