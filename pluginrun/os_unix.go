//go:build unix

package pluginrun

import (
	"errors"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/holdfast-go/holdfast/internal/sys"
)

const (
	hasGroups = true // processes have groups
	canAsk    = true // a process can be asked to end

	numbersReturn = true // a new file may get the number of one that is gone, at once
)

func (osSystem) hasGroups() bool { return hasGroups }

func (osSystem) inGroup(pid int) bool {
	for at, next := os.Getpid(), os.Getppid(); at > 0; at, next = next, sys.Parent(next) {
		if group, err := unix.Getpgid(at); err == nil && group == pid {
			return true
		}
	}
	return false
}

func (osSystem) isScript(err error) bool { return errors.Is(err, syscall.ENOEXEC) }

func exitStatus(state *os.ProcessState) (code int, signal string) {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), sys.SignalName(status.Signal())
	}
	return state.ExitCode(), ""
}

// variable is the value of the first variable of this name.
func variable(env []string, name string) string {
	for _, v := range env {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}
