//go:build unix

package child

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// shell is a variable for tests, which try others.
var shell = "/bin/sh"

// assignable are the names that a shell can have a variable of. It drops others.
var assignable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// special are the names of variables that some shell changes, or that change what it does: a time limit for our read, a
// trace of our script. The script's own is one of them.
var special = regexp.MustCompile(`^(_|BASH.*|COLUMNS|COMP_.*|DIRSTACK|E?[UG]ID|ENV|EPOCH.*|ERRNO|FPATH|FUNCNAME|GROUPS|` +
	`HIST.*|HOSTNAME|HOSTTYPE|IFS|KSH_.*|LINENO|LINES|MACHTYPE|OLDPWD|OPT(ARG|ERR|IND)|OSTYPE|PIPESTATUS|POSIXLY_CORRECT|` +
	`PPID|PS[0-4]|PWD|RANDOM|REPLY|SECONDS|SHELLOPTS|SHLVL|SRANDOM|TMOUT|line)$`)

// shellsOwn are names that some shells set for every program.
var shellsOwn = []string{"_", "OLDPWD", "PWD", "SHLVL"}

// shellStub is the command line and the environment of a stub that waits at descriptor at: it reads a line, closes the
// descriptor and becomes the program. Variables that the shell would drop or change go by way of env: their values stand
// on a command line, for everyone on this machine to read, until the program runs.
func shellStub(at int, path string, args, env []string) (command, carried []string, err error) {
	if at > 9 {
		return nil, nil, fmt.Errorf("no descriptor from 3 to 9 is free for the gate")
	}
	if !strings.HasPrefix(path, "/") {
		path = "./" + path // neither looked up nor taken for an option
	}
	if strings.Contains(path, "=") {
		return nil, nil, fmt.Errorf("env takes %s for a variable", path)
	}
	script := fmt.Sprintf(`read -r line <&%d && exec %d<&- "$@"`, at, at)
	command = []string{"sh", "-c", script, "sh", "/usr/bin/env"}
	for _, name := range shellsOwn {
		if !slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, name+"=") }) {
			command = append(command, "-u", name)
		}
	}
	command = append(command, "--")
	for _, v := range env {
		name, _, found := strings.Cut(v, "=")
		switch {
		case !found || name == "":
			return nil, nil, fmt.Errorf("neither a shell nor env can hand on %q: it has no name", v)
		case assignable.MatchString(name) && !special.MatchString(name):
			carried = append(carried, v)
		default:
			command = append(command, v)
		}
	}
	return append(append(command, path), args[1:]...), carried, nil
}
