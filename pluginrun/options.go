package pluginrun

import (
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/filelock"
)

// The defaults.
const (
	DefaultProgram      = "pnpm"
	DefaultLockWait     = 2 * time.Minute
	DefaultLeftoverWait = 5 * time.Second
	DefaultKillAfter    = 10 * time.Second
	DefaultTail         = 64 << 10
)

// What is not an option.
const (
	goneBound  = 5 * time.Second // how long a tree may take to be gone after it was killed
	drainBound = 2 * time.Second // how long its output and the rest of it may outlast a program
	mostLogs   = 20              // how many logs are kept
)

// restored are the files that a package manager changes together.
var restored = []string{"package.json", "pnpm-lock.yaml", "package-lock.json", "pnpm-workspace.yaml"}

// Option changes how programs are run.
type Option func(*options)

type options struct {
	program      string
	env          []string
	attached     bool
	lockWait     time.Duration
	leftoverWait time.Duration
	idleLimit    time.Duration
	killAfter    time.Duration
	tail         int
	stdout       io.Writer
	stderr       io.Writer
	restore      []string
	logger       *slog.Logger
	onWait       func(filelock.Holder)
	onAcquire    func(*filelock.Lock)
	onLeftover   func(*ActiveError)
	onStart      func(pid int)
}

// silent is the logger where nobody listens.
var silent = slog.New(slog.DiscardHandler)

func newOptions(opts []Option) options {
	o := options{
		program: DefaultProgram, lockWait: DefaultLockWait, leftoverWait: DefaultLeftoverWait, killAfter: DefaultKillAfter,
		tail: DefaultTail, restore: restored,
	}
	for _, set := range opts {
		set(&o)
	}
	if o.logger == nil {
		o.logger = silent
	}
	return o
}

// Program is what to run, [DefaultProgram] if it is not given: a path, or a name that is looked up in the PATH of the
// program's environment.
func Program(name string) Option { return func(o *options) { o.program = name } }

// Env is the program's environment instead of ours. It arrives byte for byte, but for [Variable] and, for a captured run,
// CI=1.
func Env(env []string) Option { return func(o *options) { o.env = slices.Clone(env) } }

// Attached gives the program our own standard streams and our process group, for a person at a terminal. Nothing of its
// output is kept, and there is no idle limit. Otherwise a run is captured: it leads a process group and a session of its own,
// so that it has no terminal to ask at, even if we have one, and gets none of its keys and no hang-up; it reads nothing, and
// CI=1 tells it that there is nobody to ask.
func Attached() Option { return func(o *options) { o.attached = true } }

// LockWait is how long to wait for the lock of package.json; [DefaultLockWait] if it is not given, filelock.Forever for no
// end, 0 for one try.
func LockWait(d time.Duration) Option { return func(o *options) { o.lockWait = d } }

// LeftoverWait is how long to wait for a recorded run to stop; [DefaultLeftoverWait] if it is not given, 0 for one look.
func LeftoverWait(d time.Duration) Option { return func(o *options) { o.leftoverWait = d } }

// IdleLimit ends a captured run that prints nothing for so long. Without it, or with 0, there is no limit.
func IdleLimit(d time.Duration) Option { return func(o *options) { o.idleLimit = d } }

// KillAfter is how long a tree that was asked to end has before it is killed; [DefaultKillAfter] if it is not given.
func KillAfter(d time.Duration) Option { return func(o *options) { o.killAfter = d } }

// Tail is how many bytes of the output's end the result has; [DefaultTail] if it is not given.
func Tail(bytes int) Option { return func(o *options) { o.tail = max(bytes, 0) } }

// Output gets the output of a captured run while it runs, the two streams from two goroutines, which may be given one
// writer only if that can be used by both. A writer that fails gets nothing more; the run goes on, and its result says so.
//
// A writer that is slow makes the program wait. It does not make the end wait: what it has not taken two seconds after the
// end of the tree it does not get. If it is in a call then, that goes on after Run has returned, and costs one goroutine
// until the writer returns; whoever looks at what was written has to know that from ErrOutputStalled.
func Output(stdout, stderr io.Writer) Option {
	return func(o *options) { o.stdout, o.stderr = stdout, stderr }
}

// Restore names the files in the profile that are as before after a run that did not succeed, instead of package.json,
// pnpm-lock.yaml, package-lock.json and pnpm-workspace.yaml. One that was missing is removed.
func Restore(names ...string) Option { return func(o *options) { o.restore = slices.Clone(names) } }

// Logger receives what happens: debug for each step, info for what the result says as well, warn for what else a person
// should know. Nothing is logged without it.
func Logger(l *slog.Logger) Option { return func(o *options) { o.logger = l } }

// OnWait has f called before each pause of the wait for the lock; see filelock.OnWait.
func OnWait(f func(filelock.Holder)) Option { return func(o *options) { o.onWait = f } }

// OnAcquire has f called once the lock is held; see filelock.OnAcquire.
func OnAcquire(f func(*filelock.Lock)) Option { return func(o *options) { o.onAcquire = f } }

// OnLeftover has f called when a recorded run is found that has not stopped, before it is waited for.
func OnLeftover(f func(*ActiveError)) Option { return func(o *options) { o.onLeftover = f } }

// OnStart has f called when the program runs.
func OnStart(f func(pid int)) Option { return func(o *options) { o.onStart = f } }
