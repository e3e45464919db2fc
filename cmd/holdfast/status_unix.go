//go:build unix

package main

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// openStatus takes a descriptor that we were started with, and keeps it from whatever we start. None of our own passes for
// one: those are closed on exec from their beginning.
func openStatus(fd int) (io.Writer, error) {
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	if err != nil || flags&unix.FD_CLOEXEC != 0 {
		return nil, errors.New("it is not open; say where it leads, as in 3>status")
	}
	mode, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil || mode&unix.O_ACCMODE == unix.O_RDONLY {
		return nil, errors.New("it is not open for writing; say where it leads, as in 3>status")
	}
	unix.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), "status"), nil
}
