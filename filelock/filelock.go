// Package filelock keeps the writers of one file apart, across goroutines, processes and languages.
//
// The record lock of FILE is the file FILE.lock beside it, which names its holder's process: "4242\n". Node programs that
// use @deepseek-ai/dsh-atomic-write take, honour and leave the same file. A holder that was killed is recovered from
// without a person: a contender that can prove it dead takes its lock over. What cannot be proven dead is waited for;
// age is never a proof.
//
// # Which function
//
// [With] is for a change that begins and ends in one function; it tells that function when the lock is lost.
// [Acquire] is for a lock whose end lies elsewhere; [TryAcquire] does not wait. To read, change and replace a file in one
// go, use Update of package atomicwrite.
//
// [Kernel] is a lock that is a file of its own and stays, for programs that share nothing with Node: the kernel lets go of it
// when its holder ends, it has readers and writers, and other programs' flock takes part. [KernelAt] is the same in a
// directory that others may write to. [Instance] keeps a program from running twice. [Named] is a lock of this machine that
// goes by a name. All of them, and [Record], are a [Locker], which [Do] runs a function under.
//
// # What it does not do
//
// The lock is advisory: a program that does not ask is not kept out, and readers need none. It is held by the process, not
// by a goroutine. Contenders on several machines that share a network file system exclude each other, but a dead holder on
// another machine is not recovered from. A Node contender in another pid namespace may take a live holder's number for a
// dead one; between Go programs on one kernel the holder's kernel lock on its lock file prevents that.
package filelock

import (
	"context"
	"log/slog"
	"sync"
)

// thisProcess is the table of locks that this process holds and waits for.
var thisProcess = newProcess()

// With runs fn while holding the lock of the file at path, and returns fn's error.
//
// While fn runs, no other process or goroutine that asks for this lock has it. The context given to fn ends with a cause
// that matches [ErrLost] if the lock file is found gone or replaced (looked for every 400 ms); With then returns that
// error, joined with fn's own, even if fn returned nil. If fn panics, the lock is released and the panic goes on.
//
// fn does not run, and nothing is left on disk, if the lock cannot be had: see [Acquire] for the errors. A call for the
// same lock with a context that comes from fn's returns [ErrReentrant] at once.
func With(ctx context.Context, path string, fn func(context.Context, *Lock) error, opts ...Option) error {
	return Do(ctx, Record(path, opts...), func(ctx context.Context, l Lease) error { return fn(ctx, l.(*Lock)) })
}

// Acquire takes the lock of the file at path, which is the file path + ".lock": if err is nil, no other process or
// goroutine that asks for it has it until Release or the end of this process, whether or not the caller keeps the *Lock.
// The directory of path must exist; path itself need not.
//
// If a dead holder's lock was taken over, [Lock.Takeover] names it: what it protected may be half done.
//
// The errors, with nothing of ours left on disk:
//   - *HeldError, matching [ErrHeld]: the wait (see [Wait]) ran out.
//   - the context's error and cause, if it ended first.
//   - [ErrReentrant]: the context comes from a With that holds this lock.
//   - *Error with the system's reason: no directory, no permission, a full disk, too many open files, a name too long for a
//     lock. A name of more than 250 bytes has no room for a lock, one of more than 224 none for a takeover.
//   - [ErrInvalidPath].
func Acquire(ctx context.Context, path string, opts ...Option) (*Lock, error) {
	return acquire(ctx, osSystem{}, thisProcess, path, newOptions(opts))
}

// TryAcquire is [Acquire] with one try, whatever the options say. A dead holder's lock is taken over even so.
func TryAcquire(ctx context.Context, path string, opts ...Option) (*Lock, error) {
	o := newOptions(opts)
	o.wait = 0
	return acquire(ctx, osSystem{}, thisProcess, path, o)
}

// Lock is a held record lock. Its methods may be called from any goroutine.
type Lock struct {
	sys     system
	process *process
	log     *slog.Logger
	place   *place
	dir     directory
	path    string
	name    string
	inode   *inode

	taken *Takeover

	mu     sync.Mutex
	done   chan struct{}
	err    error // nil while held
	ended  bool  // Release has begun
	timer  timer
	cancel context.CancelCauseFunc
}

// Path is the lock file's path, made from the path that was asked for.
func (l *Lock) Path() string { return l.path }

// Takeover returns the dead holder whose lock was taken over to get this one, if there was one.
func (l *Lock) Takeover() (Takeover, bool) {
	if l.taken == nil {
		return Takeover{}, false
	}
	return *l.taken, true
}

// Done is closed when this holding is over: released or lost.
func (l *Lock) Done() <-chan struct{} { return l.done }

// Err is nil while the lock is held, a *LostError once it was found lost, and [ErrReleased] after a release.
func (l *Lock) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Check looks at the disk now: nil if the lock file is still ours, or if the system does not say, a *LostError if it is not
// (then Done is closed), and [ErrReleased] after a release. It is for the moment directly before a step that must not happen
// without the lock.
func (l *Lock) Check() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.verify()
	}
	return l.err
}

// Release gives the lock up: the lock file is removed, if it is still ours, before its kernel lock is dropped. The first
// call acts; others, from any goroutine, return nil.
//
// A lock that was lost returns its *LostError, and what lies at the path is not touched. If the lock file cannot be removed
// the *Error says why; other Go programs then see that its holder has let go and take it over, where the file system has
// kernel locks, and everybody else once this process has ended.
func (l *Lock) Release() error { return l.release() }
