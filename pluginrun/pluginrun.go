// Package pluginrun runs a package manager in a profile directory, so that two runs never overlap, a run never begins over
// what a killed one left running, and a run that fails or is cancelled leaves the manifest and the lockfiles as they were.
//
// A run holds the record lock of DIR/package.json (package filelock) from before it looks at anything until everything is
// over, and it is recorded in DIR/.plugin-manager/run.json, as Node's plugin manager does it: both honour each other's locks
// and records. If we are killed, the record stays and names what still runs; the next run waits for it, refuses or goes on.
//
//	r := pluginrun.New("/home/u/.tool/profile")
//	result, err := r.Run(ctx, "add", "left-pad")
//
// A program that uses this package should begin its main with [Gate]: see there.
//
// # What is on disk
//
//	DIR/package.json.lock             while a run is prepared, goes on or is wound up
//	DIR/.plugin-manager/run.json      {"pid":N,"grouped":true}: from before the program begins until its whole tree is gone
//	DIR/.plugin-manager/restore/*/    what manifest and lockfiles were, for each run: from before the program begins until
//	                                  it has succeeded, or they were restored
//	DIR/.plugin-manager/restore-*/    the same of runs that lost their lock: nobody restores from these; remove them when
//	                                  you have looked
//	DIR/.plugin-manager/logs/         the full output of the last runs, captured ones only
//
// # The tree
//
// What a run started is not only its program: package managers give lifecycle scripts groups and sessions of their own, and
// those outlive them. On Linux all of them are found, by descent, group, and a variable of their environment
// ([Variable]), as far as /proc shows them to us: not programs that run as another user, nor one that left group and
// parents and dropped the variable. Elsewhere the tree is the program and its group; on Windows, its job while we live.
package pluginrun

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/internal/child"
)

// Variable is the name of the environment variable that marks the processes of a run. Each run adds one word to it.
const Variable = "HOLDFAST_RUN"

// Gate lets this program be the gate behind which the programs of its runs wait until they are recorded. It must be the
// first thing that main does; in all processes but such a gate it returns at once.
//
// Without it /bin/sh is the gate. That works too, but variables with names that a shell does not carry, such as npm's
// "npm_config_//host/:_authToken", then stand on a command line for a moment, where every user of this machine can read
// them.
func Gate() { child.Gate() }

// Runner runs package managers in one profile. It may be used by several goroutines.
type Runner struct {
	dir  string
	opts options
}

// New returns a Runner for the profile in dir, which need not exist. A relative path counts from where this process is when Run
// is called.
func New(dir string, opts ...Option) *Runner { return &Runner{dir, newOptions(opts)} }

// Result is what is known of a run that was started, whatever became of it.
type Result struct {
	// ExitCode is the program's own; 128 and the signal's number if a signal ended it, -1 if its end was not seen.
	ExitCode int
	// Signal names the signal that ended the program, such as SIGKILL, or SIG35 for one without a name; empty if none did.
	Signal   string
	Duration time.Duration // from the program's begin to its end

	Tail    []byte // the last part of the output, both streams; nil for an attached run
	TailCut bool   // the output is longer than Tail
	Log     string // the file with the whole output; empty for an attached run
	// OutputCut says that the tree has ended, or that of it which could be ended, but two seconds later the output had not:
	// something still held it open, and what that printed later is in no tail and no log; or OutputErr is ErrOutputStalled.
	OutputCut bool
	// OutputErr is why the writers of Output did not get all of the output: the error of one, or ErrOutputStalled; nil if
	// they did, or all that was read before it was cut. Tail and log have it nevertheless.
	OutputErr error

	Restored  []string  // the files that are as they were before the run
	Leftover  *Leftover // the recorded run that was waited for before this one; nil if there was none
	Survivors []Process // processes of this run that go on; the record stays as long as they do
}

// Process is one live process.
type Process struct {
	PID     int
	Command string // empty if unknown
}

// Leftover is a recorded run that this one found.
type Leftover struct {
	PID     int64
	Grouped bool
	Proof   string        // how it is known to have stopped, such as "no-such-process"
	Waited  time.Duration // until then
}

// Run runs the program with args and returns what became of it.
//
// It waits for the lock, then for the recorded run of a manager that was killed, which it refuses to overlap; finishes what
// that one left to restore; writes down manifest and lockfiles; and only then lets the program begin, with its record on
// disk. An exit code is data, not an error: if it is not 0, the files are restored, result.Restored names them, and err is
// nil.
//
// result is nil if nothing was started. The errors:
//   - *[NotFoundError]: there is no such program, or its interpreter is missing; the former is known before anything is
//     waited for. *[StartError]: it could not be started.
//   - [ErrReentrant]: we are part of a run in this profile, or have one in this process.
//   - filelock's: the lock of package.json could not be had. *[ActiveError]: a recorded run goes on. *[RecordError]: the
//     record names no run. The profile is as it was; an unfinished restore of a stopped run may have been finished.
//   - *[CancelledError] (ctx has ended), *[IdleError] (nothing was printed for the idle limit): the tree was ended first,
//     then the files restored.
//   - *[SurvivorsError]: the tree could not be ended. Nothing was restored; record and copies stay for the next run.
//   - filelock.ErrLost: the lock was taken away. The tree was ended, nothing was restored, since others may have written
//     meanwhile; the copies were set aside, and the error, a *[LostError], says where, or why they could not be.
//   - *[Error]: a step failed for a reason of the system's, or of [ErrCopies]. If result is nil, nothing was started. If not, the record or the
//     copies stay, and the next run may restore the files before it begins, even if the program has succeeded.
//
// A panic of a callback or of a log's handler goes on, once what was started has ended and the lock is released; the next run
// then restores the files. One of a writer of [Output], or of a log's handler that is told of output, is in a goroutine of its own
// and ends this process, as if it were killed.
func (r *Runner) Run(ctx context.Context, args ...string) (*Result, error) {
	return run(ctx, osSystem{}, thisProcess, r.dir, r.opts, args)
}
