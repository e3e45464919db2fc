//go:build !linux && !darwin && !freebsd && !netbsd && !openbsd && !windows

package child

import (
	"errors"
	"os"
)

func waitUnreaped(*os.Process) error { return errors.ErrUnsupported }
