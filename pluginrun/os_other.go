//go:build !unix

package pluginrun

import (
	"os"
	"strings"
)

const (
	hasGroups = false
	canAsk    = false
)

func (osSystem) hasGroups() bool { return hasGroups }

func (osSystem) isScript(error) bool { return false }

func exitStatus(state *os.ProcessState) (code int, signal string) { return state.ExitCode(), "" }

// variable is the value of the first variable of this name, whose case does not matter.
func variable(env []string, name string) string {
	for _, v := range env {
		if n, value, ok := strings.Cut(v, "="); ok && strings.EqualFold(n, name) {
			return value
		}
	}
	return ""
}
