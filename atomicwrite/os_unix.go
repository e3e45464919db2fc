//go:build unix

package atomicwrite

import (
	"io/fs"

	"github.com/google/renameio/v2"
)

const (
	refusalsPass = false

	// modeKept are the bits that a file's mode really has here.
	modeKept = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

	deniedAdvice = "a sticky directory lets only the file's owner replace it, and an immutable file is nobody's to replace"
)

// lengthOf is a name's length as the limit of 255 counts it.
func lengthOf(name string) int { return len(name) }

func (osSystem) symlink(target, path string) error { return bare(renameio.Symlink(target, path)) }
