package filelock

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/oneline"
)

// The errors to branch on. The structs behind them have the facts.
var (
	// ErrUnavailable is the family of all reasons for which a lock could not be had although nothing is wrong with the
	// request: another try may succeed. The end of the caller's context is not one of them.
	ErrUnavailable = errors.New("lock unavailable")

	// ErrHeld is the member of ErrUnavailable that says: somebody else has it, or nobody can prove that its holder is
	// dead. The error is a *HeldError.
	ErrHeld = errors.New("lock held")

	// ErrMisconfigured is the member of ErrUnavailable that says: the place where the lock must be is not what it must be, or
	// refuses us. A person has to see to it. There is never a second place: locks in two places would be two locks.
	ErrMisconfigured = errors.New("lock misconfigured")

	// ErrLost says that the lock was taken away from a holder that had not released it. The error is a *LostError.
	ErrLost = errors.New("lock lost")

	// ErrReleased is what a released lock's Err returns.
	ErrReleased = errors.New("lock released")

	// ErrReentrant says that the context already holds the lock that was asked for. Waiting would be for oneself.
	ErrReentrant = errors.New("lock already held by this call chain")

	// ErrInvalidPath says that a path names no file: empty, ".", "..", with a trailing slash or a NUL byte.
	ErrInvalidPath = errors.New("path names no file")

	// ErrUnsafePath says that a kernel lock's path does not lead to a regular file with one name, or not without following a
	// link. The error is an *UnsafePathError.
	ErrUnsafePath = errors.New("path not safe to lock")
)

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

// State is what is known of a holder.
type State string

// The states. Only Dead is proven to be dead.
const (
	Alive     State = "alive"
	OtherUser State = "other user" // alive, and belongs to somebody else
	Ourselves State = "ourselves"  // this process
	Unproven  State = "unproven"   // nobody can prove it alive or dead
	Dead      State = "dead"
)

// Holder is what is known of who holds a lock or claim. Zero fields are unknown.
type Holder struct {
	PID     int
	State   State
	Hint    bool   // PID took a kernel lock last, and nothing says whether it still has it
	Why     string // how the state is known, or why it is not
	Command string
	Started time.Time
	Since   time.Time // when the lock was made
	Foreign bool      // PID is a number of another PID namespace or machine: here it means another process or none
}

// HeldError says who kept a lock from being acquired. It matches [ErrHeld] and [ErrUnavailable]. Nothing was changed on
// disk.
type HeldError struct {
	Path   string        // the lock file
	Holder Holder        // whoever is in the way: the claimant if Claim is set
	Waited time.Duration // until the wait ran out; zero after one try, however long the system took for it
	Claim  string        // the claim file that blocks the takeover of a dead holder's lock, if one does
	Err    error         // the system's error that kept a dead holder's lock from being removed, if one did
	Kernel bool          // it is a kernel lock, which is free when its holder ends; Holder may be a hint
}

// Is makes the error match its family.
func (e *HeldError) Is(target error) bool { return target == ErrHeld || target == ErrUnavailable }

// Unwrap returns the system's error, if there is one.
func (e *HeldError) Unwrap() error { return e.Err }

// Stuck reports whether waiting longer can only help if a person acts: nobody can prove the holder dead or alive, or its
// death is proven and its lock or claim cannot be removed.
func (e *HeldError) Stuck() bool {
	return !e.Kernel && (e.Holder.State == Unproven || e.Holder.State == Dead)
}

// Error is one line: what, who, since when, what next.
func (e *HeldError) Error() string {
	var b strings.Builder
	b.WriteString(oneline.Path(e.Path))
	h := e.Holder
	next := "wait longer, or end that process"
	switch {
	case e.Claim != "" && h.State == Unproven:
		fmt.Fprintf(&b, " is left by a dead holder, and the claim %s on it is unproven: %s", oneline.Path(e.Claim), h.Why)
		next = "find out which program made that claim"
	case e.Claim != "" && h.State == Dead:
		fmt.Fprintf(&b, " is left by a dead holder, and the claim %s on it by %s", oneline.Path(e.Claim), h.who())
		next = "this file system has no kernel locks to adopt that claim with: remove the claim"
	case e.Claim != "":
		fmt.Fprintf(&b, " is being taken over by %s through the claim %s", h.who(), oneline.Path(e.Claim))
		next = "try again"
	case h.State == Ourselves:
		fmt.Fprintf(&b, " is held by this process (PID %d)", h.PID)
		next = "release it elsewhere in this program first"
	case h.State == Dead && e.Err != nil:
		fmt.Fprintf(&b, " is left by %s and cannot be removed: %v", h.who(), e.Err)
		next = "make its directory writable"
	case h.State == Dead:
		fmt.Fprintf(&b, " is left by %s; takeover is switched off", h.who())
		next = "allow takeover"
	case e.Kernel && h.State == Unproven:
		fmt.Fprintf(&b, " is held, by whom is not known: %s", h.Why)
		h.Since = time.Time{} // when somebody else took it
		next = "wait longer, or find out which process has it open"
	case h.Hint:
		fmt.Fprintf(&b, " is held, perhaps by %s, which took it last", h.who())
		if !h.Since.IsZero() {
			fmt.Fprintf(&b, " at %s", h.Since.UTC().Format(time.RFC3339))
			h.Since = time.Time{}
		}
		next = "wait longer, or find out which process has it open"
	case h.State == Unproven:
		fmt.Fprintf(&b, " cannot be judged: %s", h.Why)
		next = "find out which program made it: nothing proves that its holder has ended"
	case h.PID == 0:
		b.WriteString(" was won by other contenders at every try")
		next = "try again"
	default:
		fmt.Fprintf(&b, " is held by %s", h.who())
		if h.Foreign {
			next = "wait longer, or end that process where it runs"
		}
	}
	if !h.Since.IsZero() {
		fmt.Fprintf(&b, ", since %s", h.Since.UTC().Format(time.RFC3339))
	}
	if e.Waited >= time.Millisecond {
		fmt.Fprintf(&b, "; gave up after %s", round(e.Waited))
	}
	return b.String() + "; " + next
}

func (h Holder) who() string {
	s := "PID " + strconv.Itoa(h.PID)
	switch {
	case h.State == Dead && h.Foreign:
		return s + " of another PID namespace or boot, which has exited"
	case h.State == Dead:
		return s + ", which has exited"
	case h.Foreign:
		return s + " of another PID namespace or machine"
	case h.Command != "":
		s += " (" + oneline.Text(h.Command, 80) + ")"
	}
	if h.State == OtherUser {
		s += " of another user"
	}
	return s
}

// misconfiguredError gives the *Error that it wraps its family.
type misconfiguredError struct{ error }

func (e misconfiguredError) Is(target error) bool {
	return target == ErrMisconfigured || target == ErrUnavailable
}

func (e misconfiguredError) Unwrap() error { return e.error }

func misconfigured(op, path string, err error) error {
	return misconfiguredError{&Error{op, path, err}}
}

// LostError says that a lock was found gone or replaced while it was held. It matches [ErrLost]. What lies at the path
// now was not touched.
type LostError struct {
	Path  string
	Found string // what lies there now
}

// Is makes the error match ErrLost.
func (e *LostError) Is(target error) bool { return target == ErrLost }

func (e *LostError) Error() string {
	return fmt.Sprintf("%s was taken away while held: %s; check what it protects, others may have written it meanwhile",
		oneline.Path(e.Path), e.Found)
}

// UnsafePathError says why a file was not locked. It matches [ErrUnsafePath]. Nothing was written.
type UnsafePathError struct {
	Path  string // the lock file
	Found string // what is wrong with it, or with the way to it
}

// Is makes the error match ErrUnsafePath.
func (e *UnsafePathError) Is(target error) bool { return target == ErrUnsafePath }

func (e *UnsafePathError) Error() string {
	return fmt.Sprintf("%s is not safe to lock: %s", oneline.Path(e.Path), e.Found)
}

// waitError is the end of the caller's context during a wait. It unwraps to the context's error and its cause, and is never
// of the family of ErrUnavailable, whatever the cause is.
type waitError struct {
	path   string
	holder Holder
	waited time.Duration
	ctx    error
	cause  error
}

func (e *waitError) Error() string {
	who := "others"
	switch {
	case e.holder.State == Ourselves:
		who = fmt.Sprintf("this process (PID %d)", e.holder.PID)
	case e.holder.PID != 0:
		who = e.holder.who()
	}
	if e.holder.Hint {
		who = "its holder, perhaps " + who
	}
	return fmt.Sprintf("%s: stopped waiting for %s after %s: %v", oneline.Path(e.path), who, round(e.waited), e.cause)
}

func (e *waitError) Unwrap() []error { return []error{e.ctx, foreign{e.cause}} }

// foreign is the cause of a context's end, of which [errors.Is] and [errors.As] find everything but that a lock is not to be
// had: which would be some other lock, and another try for this one would succeed no more than the last.
type foreign struct{ error }

func (f foreign) Is(target error) bool {
	switch target {
	case ErrUnavailable, ErrHeld, ErrMisconfigured:
		return false
	}
	return errors.Is(f.error, target)
}

func (f foreign) As(target any) bool {
	_, held := target.(**HeldError)
	return !held && errors.As(f.error, target)
}

func newWaitError(ctx context.Context, path string, holder Holder, waited time.Duration) error {
	return &waitError{path, holder, waited, ctx.Err(), context.Cause(ctx)}
}

// Takeover names the dead predecessor of a lock that was taken over. It may have stopped anywhere.
type Takeover struct {
	PID     int       // 0 if unknown
	Proof   string    // how its death is known, such as "no-such-process" or "guard-free"
	Since   time.Time // when it had made its lock; zero if unknown
	Foreign bool      // PID was a number of another PID namespace or boot: here it means another process or none
}

func round(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(time.Second / 10)
}
