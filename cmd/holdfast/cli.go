package main

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// verb is one parsed command line.
type verb interface {
	Run(*call) error
}

// grammar is what a command line may say.
type grammar struct {
	Write   writeVerb   `cmd:"" help:"Replace FILE in one step by standard input, or by what CMD prints if it succeeds."`
	Edit    editVerb    `cmd:"" help:"Replace FILE by what CMD makes of it, under FILE's lock."`
	Lock    lockVerb    `cmd:"" help:"Run CMD while holding FILE's lock."`
	Run     runVerb     `cmd:"" help:"Run a package manager in a profile's directory, undone if it fails."`
	Version versionVerb `cmd:"" help:"Print the version."`
	Help    helpVerb    `cmd:"" help:"Print this, or the help of a verb."`
}

// operands are FILE and CMD, which stands after "--" and is not the parser's business.
type operands struct {
	File    string   `arg:"" name:"FILE" help:"The file. Its lock is FILE.lock beside it."`
	Command []string `kong:"-"`
}

func (o *operands) takes(command []string) { o.Command = command }

// taker is a verb that takes CMD.
type taker interface {
	takes(command []string)
	commandIsOptional() bool
}

const separator = "--"

// parse reads a command line. If it asked for help, that was printed to out and verb is nil.
func parse(args []string, out io.Writer) (verb, error) {
	before, command, separated := cut(spelledOut(args))
	var g grammar
	help := &sink{to: out}
	helped := false
	parser, err := kong.New(&g, kong.Name("holdfast"), kong.Description(description), kong.Help(printHelp),
		kong.Exit(func(int) { helped = true }), kong.Writers(help, io.Discard), kong.KindMapper(reflect.String, kong.MapperFunc(asItStands)))
	if err != nil {
		return nil, err
	}
	ctx, err := parser.Parse(before)
	if help.err != nil {
		return nil, notPrinted(help.err)
	}
	if helped {
		return nil, nil
	}
	if err != nil {
		return nil, usageError(separated, err)
	}
	v := ctx.Selected().Target.Addr().Interface().(verb)
	if err := attach(v, ctx.Selected().Name, command, separated); err != nil {
		return nil, err
	}
	return v, nil
}

// asItStands reads an argument byte for byte: the parser's own way changes what is no UTF-8, and with it which file is meant.
func asItStands(ctx *kong.DecodeContext, target reflect.Value) error {
	token, err := ctx.Scan.PopValue("string")
	if err == nil {
		target.SetString(fmt.Sprint(token.Value))
	}
	return err
}

// spelledOut puts the short ways of asking in the parser's terms.
func spelledOut(args []string) []string {
	switch {
	case len(args) == 1 && args[0] == "--version":
		return []string{"version"}
	case len(args) > 0 && args[0] == "help":
		return append(slices.Clone(args[1:]), "--help")
	}
	return args
}

// cut parts a command line at the first "--".
func cut(args []string) (before, command []string, separated bool) {
	if i := slices.Index(args, separator); i >= 0 {
		return args[:i], args[i+1:], true
	}
	return args, nil, false
}

// attach gives a verb its CMD, or says what is wrong with it.
func attach(v verb, name string, command []string, separated bool) error {
	n, takes := v.(taker)
	switch {
	case !takes && separated:
		return usage(name, "%s takes no command", name)
	case !takes:
		return nil
	case separated && (len(command) == 0 || command[0] == ""):
		return usage(name, "no command after --")
	case len(command) == 0 && !n.commandIsOptional():
		return usage(name, "%s needs a command: %s", name, withCommand(name))
	}
	n.takes(command)
	return nil
}

// withCommand is a command line of a verb that takes CMD.
func withCommand(name string) string {
	operand := "FILE"
	if name == "run" {
		operand = "DIR"
	}
	return "holdfast " + name + " " + operand + " -- CMD"
}

// usageError is what the parser has against a command line, in one sentence.
func usageError(separated bool, err error) error {
	text, name := err.Error(), ""
	var parsing *kong.ParseError
	if !errors.As(err, &parsing) || parsing.Context.Selected() == nil {
		return usage("", "%s", strings.Replace(text, "unexpected argument", "unknown verb", 1))
	}
	selected := parsing.Context.Selected()
	name = selected.Name
	_, takes := selected.Target.Addr().Interface().(taker)
	if takes && !separated && (strings.HasPrefix(text, "unexpected argument") || strings.HasPrefix(text, "unknown flag")) {
		text += "; -- must stand before a command: " + withCommand(name)
	}
	return usage(name, "%s", text)
}

// notPrinted says that our own product did not get to where it was to go.
func notPrinted(err error) error {
	return &failure{exitIO, "cannot write to standard output: " + reason(err).Error()}
}

func usage(name, format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	if name != "" {
		name += " "
	}
	return &failure{exitUsage, text + "; see holdfast " + name + "--help"}
}
