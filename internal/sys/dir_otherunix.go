//go:build unix && !linux && !darwin

package sys

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

const dirFlags = unix.O_RDONLY

// CreateUnnamed is [Unsupported] here.
func (d *Dir) CreateUnnamed(fs.FileMode) (*File, error) { return nil, Unsupported }

// LinkUnnamed is [Unsupported] here.
func (d *Dir) LinkUnnamed(*File, string) error { return Unsupported }

// MoveNew is [Unsupported] here.
func (d *Dir) MoveNew(*File, string, string) error { return Unsupported }
