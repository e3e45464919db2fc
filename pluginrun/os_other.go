//go:build !unix

package pluginrun

import (
	"os"
	"strings"
)

const (
	hasGroups = false
	canAsk    = false

	// NTFS counts how often a number was used, in the number. An open file would keep others from opening it who do not
	// share its removal, as most programs do not.
	numbersReturn = false
)

func (osSystem) hasGroups() bool { return hasGroups }

func (osSystem) inGroup(int) bool { return false }

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
