package child

import (
	"fmt"
	"path/filepath"
	"strings"
)

// batch is how to start a program on Windows: itself, or where it is a batch file, the command interpreter with a command
// line that brings the arguments through. An empty line means that the arguments need no care.
func batch(path string, args []string, interpreter string) (program, line string, err error) {
	// Windows opens a file by its name with dots and blanks at the end too.
	ext := strings.ToLower(filepath.Ext(strings.TrimRight(path, ". ")))
	if ext != ".cmd" && ext != ".bat" {
		return path, "", nil
	}
	line = quoted(path)
	for _, a := range args[1:] {
		// A batch file hands its arguments on in a line that is read once more: there a quote would end ours.
		if strings.ContainsAny(a, "\"\r\n\x00") {
			return "", "", fmt.Errorf("the batch file %s cannot be given the argument %q", path, a)
		}
		line += " " + quoted(a)
	}
	return interpreter, `"` + interpreter + `" /e:on /v:off /d /s /c "` + line + `"`, nil
}

// quoted is text in quotes, in which only a percent sign means something to the interpreter: here, none begins a variable's
// name but that of an empty one behind it. What reads the line in the end takes backslashes before a quote for half as many.
func quoted(text string) string {
	trailing := len(text) - len(strings.TrimRight(text, `\`))
	return `"` + strings.ReplaceAll(text, "%", "%%cd:~,%") + strings.Repeat(`\`, trailing) + `"`
}
