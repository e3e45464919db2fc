package filelock

import (
	"context"
	"fmt"
	"strings"

	"github.com/holdfast-go/holdfast/internal/oneline"
)

// Scope says for whom a named lock is one lock: [AllUsers], [Group] or [CurrentUser]. Two scopes are two locks, whatever
// their names, so it has to be said; the zero Scope is none.
type Scope string

const (
	// AllUsers is everybody on this machine.
	AllUsers Scope = "all users"
	// CurrentUser is the effective user of the process; on Windows the one whose token the process has.
	CurrentUser Scope = "current user"
)

const groupScope = "group "

// Group is the members of a group of the system's, by its name or number, on Windows by its name or security identifier;
// and root, on Windows the administrators.
func Group(group string) Scope { return groupScope + Scope(group) }

// group returns the group of a group's scope.
func (s Scope) group() (group string, ok bool) {
	group, ok = strings.CutPrefix(string(s), groupScope)
	return group, ok && group != ""
}

// Named is the lock that name has in the scope, on this machine. If its Acquire returns no error, nobody else in the scope
// who asks for that name has it until Release or the end of the process, whether or not the caller keeps the lease; by which
// user, from which directory and with which environment they run makes no difference. Any string is a name, and two names
// that differ in a single byte are two locks.
//
// A holder that ended without a release, killed or not, has let go: the next one gets the lock, is told by [TakeoverOf], and
// logs a warning, since what the lock protects may be half done. A child that was started while the lock was held does not
// keep it. Nothing is judged by age or by process numbers.
//
// Of the options [Wait], [Logger], [OnWait] and [Eager] count; there are no shared named locks.
//
// # Errors
//
// After an error no owner record has changed; a file that was made stays.
//
//   - *[HeldError], matching [ErrHeld]: the wait ran out. It names the holder as the owner record does, which is a hint.
//   - the context's error and cause, if it ended first.
//   - [ErrReentrant]: the context comes from a [Do] that holds this lock.
//   - [ErrMisconfigured], with the system's reason: the place of the lock is not what it must be, or refuses us. There is no
//     second place, since locks in two places would be two locks.
//   - [errors.ErrUnsupported] where the system has neither kernel locks on files nor named mutexes.
//
// The lease is lost, which its Done and Err say, if its file was found gone or replaced; that is looked for every 400 ms, and by
// its method Check() error, which is that of a [KernelLease].
//
// # On Unix
//
// The lock is the kernel's lock (flock) on a file that is made once and stays. It is empty or blank while nobody has the lock;
// otherwise its holder's owner record is in it, by which an abandoned lock is noticed. The files lie in a directory that the
// system has, that belongs to root, and that everybody may write to, whatever TMPDIR, HOME and the like say:
//
//	Linux                                   /run/lock
//	macOS                                   /private/var/tmp
//	FreeBSD, NetBSD, DragonFly, illumos     /var/tmp
//	OpenBSD                                 /tmp
//
// On Linux the directories for temporary files would not do: services may have private ones, and would have locks of their
// own. /run/lock is usually in memory: a lock that is held then takes a page of what there is, one that is not takes none.
// Where it is only root's to write to, as on Fedora, others can take the locks that root has taken once since the system
// started, until an administrator opens it as Debian has it (tmpfiles.d: d /run/lock 1777 root root). Containers have locks of
// their own unless they share that directory.
//
//	AllUsers      holdfast-all-NAME             mode 0666
//	Group         holdfast-group-GID-NAME       mode 0660, of that group
//	CurrentUser   holdfast-user-UID/NAME        mode 0600, in a directory of mode 0700
//
// NAME is what of the name can be shown, and the SHA-256 of all of it. Owner, group, mode, kind and content are checked each
// time, and what another user may have put there is refused, never followed, written to or removed. Who made the file first
// could remove it, as root could, and nobody else: the holder is told that it lost the lock, and everybody in a scope can
// hold its locks for ever. A scope is for users who trust each other so far.
//
// # On Windows
//
// The lock is the mutex Global\holdfast-all-NAME, Global\holdfast-group-SID-NAME or Global\holdfast-user-SID-NAME, with access
// for the scope, for the system and for administrators. A mutex ends with the last process that has it open: that a holder
// ended without a release is told to those who were waiting then, and not which process it was. A lease cannot be lost.
func Named(name string, scope Scope, opts ...Option) Locker {
	return namedLocker{osNamed(), kernelLocks, name, scope, newOptions(opts)}
}

// namedLocker is a named lock as its callers have it at hand: nothing is open.
type namedLocker struct {
	machine namedMachine
	table   *kernelTable
	name    string
	scope   Scope
	opts    options
}

func (n namedLocker) TryAcquire(ctx context.Context) (Lease, error) {
	n.opts.wait = 0
	return n.Acquire(ctx)
}

func (n namedLocker) Acquire(ctx context.Context) (Lease, error) {
	n.opts.shared = false
	l, err := n.machine.acquire(ctx, n)
	if err != nil {
		return nil, err
	}
	returned := false
	defer func() {
		if !returned { // a panic of the log's handler goes on, without the lock
			_ = l.Release()
		}
	}()
	if t, ok := l.Takeover(); ok {
		n.opts.logger.Warn("the last holder ended without releasing the lock: what it protects may be half done",
			"lock", n.name, "scope", n.scope, "pid", t.PID, "proof", t.Proof, "since", t.Since, "foreign", t.Foreign)
	}
	returned = true
	return l, nil
}

// namedMachine is where a machine has its named locks.
type namedMachine interface {
	acquire(ctx context.Context, n namedLocker) (namedLease, error)
}

// namedLease is a lease that knows of a predecessor.
type namedLease interface {
	Lease
	Takeover() (Takeover, bool)
}

// abandoned is the proof of a takeover: the system's lock was free, and there had been no release.
const abandoned = "abandoned"

// ended is the error of an acquisition whose context ended before it began.
func (n namedLocker) ended(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return newWaitError(ctx, fmt.Sprintf("lock %q of %s", n.name, n.scope), Holder{}, 0)
}

// noScope is the error for a scope that is none of the three.
func (n namedLocker) noScope() error {
	return misconfigured("find the lock", n.name, fmt.Errorf("%q is no scope", string(n.scope)))
}

func alreadyHeld(path string) error {
	return fmt.Errorf("%s: %w: use that lock, or take it once further out", oneline.Path(path), ErrReentrant)
}
