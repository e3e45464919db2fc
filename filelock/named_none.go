//go:build !unix && !windows

package filelock

import (
	"context"
	"errors"
)

func osNamed() namedMachine { return noNamed{} }

// noNamed is a machine without named locks.
type noNamed struct{}

func (noNamed) acquire(ctx context.Context, n namedLocker) (namedLease, error) {
	if err := n.ended(ctx); err != nil {
		return nil, err
	}
	return nil, &Error{"take the named lock", n.name, errors.ErrUnsupported}
}
