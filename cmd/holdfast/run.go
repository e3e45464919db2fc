package main

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/holdfast-go/holdfast/filelock"
	"github.com/holdfast-go/holdfast/internal/child"
	"github.com/holdfast-go/holdfast/internal/sys"
	"github.com/holdfast-go/holdfast/pluginrun"
)

type runVerb struct {
	Dir     string   `arg:"" name:"DIR" help:"The profile's directory. It is made if it does not exist."`
	Command []string `kong:"-"`
	locking
	LeftoverWait span `default:"5s" placeholder:"TIME" help:"How long to wait for the recorded run of a manager that was killed: 30s, 2m, a number of seconds. ${default} if not given."`
	Attached     bool `xor:"streams" help:"Give CMD our standard streams and the terminal's keys. So it is done without this flag if all three are a terminal."`
	Captured     bool `xor:"streams" help:"Give CMD nothing to read and no terminal, keep its output in a log, and pass it on."`
	IdleLimit    span `placeholder:"TIME" help:"End a captured CMD that prints nothing for so long (76)."`
	KillAfter    span `default:"10s" placeholder:"TIME" help:"Kill what was asked to end and goes on for so long. ${default} if not given."`
	reporting
	talking
}

// Help is the verb's part of the contract.
func (*runVerb) Help() string {
	return `CMD, such as pnpm add left-pad, runs in DIR under the lock of DIR/package.json, and is recorded in
DIR/.plugin-manager/run.json: no two runs overlap, and none begins while something goes on of one whose manager was killed
(75, naming the process and the record; 76 if the record names no run, or nobody can tell whether it goes on or what it left
to restore). If CMD fails, package.json and the package manager's lockfiles are as they were before, one line says so, and
its exit code or signal is ours. A signal that asks us to end, a run that is silent for longer than --idle-limit, and a lost
lock (76) end CMD and all that it started; then those files are restored, unless the lock was lost or something cannot be
ended (76). A run inside a run is refused at once (76). If CMD succeeds, and what it printed cannot be passed on, or is not
taken within two seconds of its end, what it did stays, and 74 says so.` + statusHelp
}

func (v *runVerb) takes(command []string) { v.Command = command }

func (*runVerb) commandIsOptional() bool { return false }

// AfterApply refuses flags that contradict each other.
func (v *runVerb) AfterApply() error {
	switch {
	case v.Dir == "":
		return errors.New("DIR is empty: give . for the current directory")
	case v.Attached && v.IdleLimit > 0:
		return errors.New("--idle-limit needs output to look at: it cannot be with --attached")
	}
	return v.locking.AfterApply()
}

// Run has CMD change the profile.
func (v *runVerb) Run(c *call) error {
	v.talking.configure(c)
	if err := v.reporting.configure(c, "run", v.Dir); err != nil {
		return err
	}
	if _, err := lookUp(v.Command); err != nil {
		return err
	}
	h := v.hold(c, sys.Below(v.Dir, "package.json"), os.Getpid())
	defer h.stop()
	r := &profileRun{c: c, dir: v.Dir, name: v.Command[0], attached: v.attached(), leftoverWait: time.Duration(v.LeftoverWait)}
	defer r.stop()
	c.signals.endsItself = true
	c.patience = runPatience
	result, err := pluginrun.New(v.Dir, append(r.options(),
		pluginrun.LockWait(v.wait()), pluginrun.OnWait(h.waiting), pluginrun.OnAcquire(func(l *filelock.Lock) { h.acquired(l) }),
		pluginrun.IdleLimit(time.Duration(v.IdleLimit)), pluginrun.KillAfter(time.Duration(v.KillAfter)),
	)...).Run(h.ctx, v.Command[1:]...)
	c.signals.ended()
	r.stop()
	end := r.ended(result)
	h.released(err)
	return r.becameOf(result, end, h.refused(err))
}

// runPatience is how long a message waits for its reader where something has to end whoever does not read: a run, and a CMD
// that is to be killed.
const runPatience = time.Second

func (v *runVerb) attached() bool {
	switch {
	case v.Attached || v.Captured:
		return v.Attached
	case v.IdleLimit > 0:
		return false
	}
	return isTerminal(os.Stdin) && isTerminal(os.Stdout) && isTerminal(os.Stderr)
}

// profileRun is what the command does around a run: shows it, reports it, and says what became of it.
type profileRun struct {
	c            *call
	dir, name    string
	attached     bool
	leftoverWait time.Duration
	progress     *progress
	pid          int
	began        time.Time
}

func (r *profileRun) options() []pluginrun.Option {
	opts := []pluginrun.Option{
		pluginrun.Program(r.name), pluginrun.LeftoverWait(r.leftoverWait), pluginrun.Logger(r.c.logger()),
		pluginrun.OnLeftover(r.leftover), pluginrun.OnStart(r.started),
	}
	if r.attached {
		return append(opts, pluginrun.Attached())
	}
	r.progress = newProgress(r.c.messages, shortened(r.name, longestCommand))
	return append(opts, pluginrun.Output(r.progress.through(os.Stdout), r.progress.through(os.Stderr)))
}

// leftover shows whose end is waited for.
func (r *profileRun) leftover(a *pluginrun.ActiveError) {
	text := fmt.Sprintf("waiting for an earlier run in %s, %s — %s (--leftover-wait)", r.dir, whoRuns(a), r.leftoverWait)
	r.c.status.report(event{Event: "waiting", PID: int(a.PID), Message: text})
	if !r.c.quiet {
		r.c.say("%s", text)
	}
}

func (r *profileRun) started(pid int) {
	r.pid, r.began = pid, time.Now()
	r.c.status.report(event{Event: "started", PID: pid})
	_ = r.c.signals.begin(func() (*os.Process, error) { return os.FindProcess(pid) })
	if r.progress != nil && r.c.terminal && !r.c.quiet {
		r.progress.show()
	}
}

func (r *profileRun) stop() {
	if r.progress != nil {
		r.progress.stop()
	}
}

// ended reports how CMD ended, and returns it.
func (r *profileRun) ended(result *pluginrun.Result) (end error) {
	switch {
	case result == nil || result.ExitCode < 0:
		return nil
	case result.Signal != "":
		end = killed{syscall.Signal(result.ExitCode - signalBase)}
	case result.ExitCode != 0:
		end = ended{result.ExitCode}
	}
	r.c.status.ended(r.pid, r.began.Add(result.Duration), end)
	return end
}

// signalBase and a signal's number make the exit code of what the signal ended, as in a shell.
const signalBase = 128

// sayOthers is about the run before this one, and about what this one left.
func (r *profileRun) sayOthers(result *pluginrun.Result) {
	if l := result.Leftover; l != nil && !r.c.quiet {
		r.c.say("%s had the record of an earlier run, PID %d, which has stopped (%s): whatever that left half changed was restored first", r.dir, l.PID, l.Proof)
	}
	if result.OutputCut && result.OutputErr == nil {
		r.c.say("%s has ended, but something that it started kept its output open: what that printed later is not shown", shortened(r.name, 40))
	}
	if len(result.Survivors) > 0 && result.ExitCode == 0 && !r.c.quiet {
		r.c.say("%s has ended and left behind %s: the next run in %s waits for that", shortened(r.name, 40), named(result.Survivors), r.dir)
	}
}

// stillRunning says whom a run would overlap.
func stillRunning(a *pluginrun.ActiveError) string {
	if a.Unseen() {
		return a.Error()
	}
	text := fmt.Sprintf("an earlier run in %s has not stopped: %s", a.Dir, whoRuns(a))
	if !a.Since.IsZero() {
		text += ", since " + a.Since.UTC().Format(time.RFC3339)
	}
	if len(a.Processes) == 0 {
		return text + "; find out whether that process runs"
	}
	return text + "; wait longer (--leftover-wait), or end it"
}

// whoRuns names what a recorded run is known by.
func whoRuns(a *pluginrun.ActiveError) string {
	if a.Unseen() {
		return "of which nobody can tell whether it goes on"
	}
	text := named(a.Processes)
	if len(a.Processes) == 0 {
		text = fmt.Sprintf("PID %d: %s", a.PID, shortened(a.Why, longestReason))
	}
	if a.Record != "" {
		text += ", recorded in " + a.Record
	}
	return text
}

func named(processes []pluginrun.Process) string {
	var list []child.Member
	for _, p := range processes {
		list = append(list, child.Member{PID: p.PID, Command: p.Command})
	}
	return listed(list)
}
