//go:build !unix

package filelock

import (
	"errors"
	"testing"
)

func makeFIFO(*testing.T, string) error { return errors.ErrUnsupported }
