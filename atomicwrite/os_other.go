//go:build !unix && !windows

package atomicwrite

import (
	"errors"
	"io/fs"
)

const (
	refusalsPass = false

	modeKept = fs.ModePerm

	deniedAdvice = "this user may not replace it"
)

// lengthOf is a name's length as the limit of 255 counts it.
func lengthOf(name string) int { return len(name) }

func (osSystem) symlink(string, string) error { return errors.ErrUnsupported }
