//go:build unix

package pluginrun

import (
	"errors"
	"os"
	"strings"
	"syscall"

	"github.com/holdfast-go/holdfast/internal/sys"
)

const (
	hasGroups = true // processes have groups
	canAsk    = true // a process can be asked to end
)

func (osSystem) hasGroups() bool { return hasGroups }

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
