package pluginrun

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/filelock"
	"github.com/holdfast-go/holdfast/internal/oneline"
)

// ErrReentrant says that the run that was asked for would wait for itself: we are part of a run in this profile, as a
// lifecycle script's process is, or have one in this process already. It matches filelock.ErrReentrant.
var ErrReentrant = fmt.Errorf("this is part of a run in that profile, and would wait for itself: %w", filelock.ErrReentrant)

// ErrCopies is what an [Error] wraps if nobody can tell what an earlier run left to restore: its index is damaged, or a later
// version's. Everything was left as it is, and no run begins before a person has moved the copies away.
var ErrCopies = errors.New("not an index of copies that this version reads")

// Error is a step that failed for a reason of the system's; it unwraps to that reason.
type Error struct {
	Op   string // the step, in words
	Path string // what it was done to
	Err  error
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s: cannot %s: %v", oneline.Path(e.Path), e.Op, e.Err)
}

// Unwrap returns the system's error.
func (e *Error) Unwrap() error { return e.Err }

// obstacle is something that is no file where a file has to be read or restored. It is left alone, whoever made it.
type obstacle struct {
	what string
	err  error
}

func inTheWay(mode fs.FileMode, err error) error {
	if mode.IsDir() {
		return &obstacle{"a directory", err}
	}
	return &obstacle{"something that is no regular file", err}
}

func (o *obstacle) Error() string {
	return o.what + " is in the way, and is not removed by us: move it away, and run again"
}

func (o *obstacle) Unwrap() error { return o.err }

// ActiveError says that a recorded run did not stop within the wait for it. Nothing was changed.
type ActiveError struct {
	Dir       string
	Record    string // the record's path; empty: processes of a run are there, and no record
	PID       int64  // the process that the record names
	Grouped   bool
	Processes []Process // those of it that were seen
	Why       string    // what keeps it from being taken for stopped
	Since     time.Time // when the record was made; zero if unknown
	Waited    time.Duration
}

func (e *ActiveError) Error() string {
	var b strings.Builder
	recorded := "that no record names any more"
	if e.Record != "" {
		recorded = "recorded in " + oneline.Path(e.Record)
	}
	if e.Unseen() {
		return fmt.Sprintf("%s: nobody can tell whether an earlier run goes on: the processes cannot be listed; try again", oneline.Path(e.Dir))
	}
	fmt.Fprintf(&b, "%s: a run %s has not stopped: %s", oneline.Path(e.Dir), recorded, e.who())
	if !e.Since.IsZero() {
		fmt.Fprintf(&b, ", since %s", e.Since.UTC().Format(time.RFC3339))
	}
	if e.Waited >= time.Millisecond {
		fmt.Fprintf(&b, "; gave up after %s", e.Waited.Round(time.Millisecond))
	}
	if len(e.Processes) > 0 {
		b.WriteString("; wait longer, or end that process")
	} else {
		b.WriteString("; find out whether that process runs")
	}
	return b.String()
}

// Unseen reports that there is neither a record nor a process that was seen, but no list of processes that would show one.
func (e *ActiveError) Unseen() bool { return e.Record == "" && len(e.Processes) == 0 }

func (e *ActiveError) who() string {
	if len(e.Processes) == 0 {
		return fmt.Sprintf("PID %d: %s", e.PID, e.Why)
	}
	return listed(e.Processes)
}

// RecordError says that the record of a run names none, so that nobody can tell whether one goes on. It was left alone.
type RecordError struct {
	Record string // its path
	Why    string
}

func (e *RecordError) Error() string {
	return fmt.Sprintf("%s names no run: %s; find out which program wrote it, and whether what it started still runs", oneline.Path(e.Record), e.Why)
}

// NotFoundError says that the program to run does not exist, or the interpreter that it names; a shell would end with 127. It
// unwraps to the system's error.
type NotFoundError struct {
	Program string
	Path    string // of the program, if it is there: its interpreter is missing
	Err     error
}

func (e *NotFoundError) Error() string {
	if e.Path != "" {
		return fmt.Sprintf("cannot run %s: the interpreter that %s names is missing; install that", oneline.Path(e.Program), oneline.Path(e.Path))
	}
	return fmt.Sprintf("cannot run %s: it is not found; install it, or name it by its path", oneline.Path(e.Program))
}

// Unwrap returns the system's error.
func (e *NotFoundError) Unwrap() error { return e.Err }

// StartError says that the program to run is there, and was not started: it is no program or may not be executed, or the
// system could not start a process. It unwraps to the system's error.
type StartError struct {
	Program string
	Err     error
}

func (e *StartError) Error() string {
	return fmt.Sprintf("cannot run %s: %v", oneline.Path(e.Program), e.Err)
}

// Unwrap returns the system's error.
func (e *StartError) Unwrap() error { return e.Err }

// IdleError says that a run was ended because it printed nothing for the idle limit.
type IdleError struct {
	Dir     string
	Program string
	PID     int
	Limit   time.Duration
	Log     string // the file with its output
}

func (e *IdleError) Error() string {
	return fmt.Sprintf("%s: %s (PID %d) printed nothing for %s and was ended; its files are as before; its output is in %s",
		oneline.Path(e.Dir), oneline.Path(e.Program), e.PID, e.Limit, oneline.Path(e.Log))
}

// CancelledError says that a run was ended because its context had. It unwraps to the context's error and cause.
type CancelledError struct {
	Dir     string
	Program string
	PID     int // 0: it had not begun
	Err     error
	Cause   error
}

func (e *CancelledError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("%s: cancelled before %s began: %v", oneline.Path(e.Dir), oneline.Path(e.Program), e.Cause)
	}
	return fmt.Sprintf("%s: %s (PID %d) was ended before it was done: %v; its files are as before", oneline.Path(e.Dir), oneline.Path(e.Program), e.PID, e.Cause)
}

// Unwrap returns the context's error and its cause.
func (e *CancelledError) Unwrap() []error { return []error{e.Err, e.Cause} }

// SurvivorsError says that processes of a run could not be ended. Nothing was restored: they may write still. It unwraps to
// why they were to end, if that is an error.
type SurvivorsError struct {
	Dir       string
	Record    string    // the record's path; it stays
	Processes []Process // empty: nobody can tell whether something runs, since the processes cannot be listed
	Err       error
}

func (e *SurvivorsError) Error() string {
	if len(e.Processes) == 0 {
		return fmt.Sprintf("%s: nobody can tell whether what was started has ended: the processes cannot be listed; the next run restores the files once it has, until then %s stays",
			oneline.Path(e.Dir), oneline.Path(e.Record))
	}
	return fmt.Sprintf("%s: what was started does not end: %s; end it; the next run then restores the files, until then %s stays",
		oneline.Path(e.Dir), listed(e.Processes), oneline.Path(e.Record))
}

// Unwrap returns why they were to end.
func (e *SurvivorsError) Unwrap() error { return e.Err }

// LostError says that the lock was taken away before or during a run. It matches filelock.ErrLost.
type LostError struct {
	Dir   string
	Aside string // where the copies of the files as they were before lie; empty if there are none, or Kept says why they stay
	Err   error
	Kept  error // why the copies are still in place, so that the next run restores the files; nil if they are not
}

func (e *LostError) Error() string {
	text := fmt.Sprintf("%s: the lock of the run was lost: %v", oneline.Path(e.Dir), e.Err)
	if e.Aside != "" {
		text += "; nothing was restored, the files as they were are in " + oneline.Path(e.Aside)
	}
	if e.Kept != nil {
		text += fmt.Sprintf("; the next run restores the files as they were: %v", e.Kept)
	}
	return text
}

// Unwrap returns filelock's error, and the system's for why the copies are in place.
func (e *LostError) Unwrap() []error {
	if e.Kept == nil {
		return []error{e.Err}
	}
	return []error{e.Err, e.Kept}
}

// mostNamed is how many processes a message names.
const mostNamed = 2

func listed(processes []Process) string {
	var names []string
	for _, p := range processes[:min(len(processes), mostNamed)] {
		name := "PID " + strconv.Itoa(p.PID)
		if p.Command != "" {
			name += " (" + oneline.Text(p.Command, 40) + ")"
		}
		names = append(names, name)
	}
	text := strings.Join(names, ", ")
	if more := len(processes) - mostNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
