package atomicwrite

import (
	"errors"
	"io/fs"
	"unicode/utf16"
)

const (
	refusalsPass = true

	// modeKept are the bits that a file's mode really has here.
	modeKept fs.FileMode = 0o200

	deniedAdvice = "it is open elsewhere, or not this user's to replace, and was so for all of 1.1 s"
)

// lengthOf is a name's length as the limit of 255 counts it.
func lengthOf(name string) int {
	units := 0
	for _, r := range name {
		units += utf16.RuneLen(r)
	}
	return units
}

func (osSystem) symlink(string, string) error { return errors.ErrUnsupported }
