package atomicwrite

import (
	"errors"
	"io/fs"
	"syscall"
)

const (
	refusalsPass = true

	// modeKept are the bits that a file's mode really has here.
	modeKept fs.FileMode = 0o200

	deniedAdvice = "it is open elsewhere, or not this user's to replace, and was so for all of 1.1 s"
)

// lengthOf is a name's length as the limit of 255 counts it.
func lengthOf(name string) int {
	units, err := syscall.UTF16FromString(name) // which takes half a surrogate pair, as a name may have it, for one unit
	if err != nil {
		return len(name)
	}
	return len(units) - 1
}

func (osSystem) symlink(string, string) error { return errors.ErrUnsupported }
