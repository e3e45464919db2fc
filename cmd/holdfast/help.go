package main

import (
	"fmt"

	"github.com/alecthomas/kong"
)

const description = `Replace files in one step, keep their writers apart, and run package managers that can be undone.

Exit codes: 0 done; CMD's own code, or death by the signal that ended it; 64 usage; 65 refused input; 66 no such FILE;
70 a bug of holdfast; 71 a process cannot be started; 73 cannot create; 74 reading, writing or syncing failed;
75 busy: a live holder has the lock, or an earlier run goes on: a retry helps; 76 stuck: a person must act; 77 not permitted; 126 CMD cannot be
executed; 127 CMD not found. After every code of ours from 64 on FILE is what it was, unless the message says otherwise. Since CMD may
end by the same codes, lock, edit and run tell them apart with --status-fd.`

// usageForm is how each verb's command line goes on.
var usageForm = map[string]string{
	"write":   "[flags] FILE [-- CMD...]",
	"edit":    "[flags] FILE -- CMD...",
	"lock":    "[flags] FILE -- CMD...",
	"run":     "[flags] DIR -- CMD...",
	"version": "",
	"help":    "[VERB]",
}

// printHelp is the parser's own help below a usage line that knows about "--".
func printHelp(options kong.HelpOptions, ctx *kong.Context) error {
	form := "VERB [flags] ..."
	if selected := ctx.Selected(); selected != nil {
		form = selected.Name + " " + usageForm[selected.Name]
	}
	fmt.Fprintf(ctx.Stdout, "Usage: holdfast %s\n", form)
	options.NoAppSummary = true
	options.Compact = true
	return kong.DefaultHelpPrinter(options, ctx)
}

// helpVerb stands for "help" in the list of verbs; the parser is given --help in its place.
type helpVerb struct{}

func (helpVerb) Run(*call) error { return nil }
