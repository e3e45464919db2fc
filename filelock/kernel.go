package filelock

import (
	"context"
	"log/slog"
	"sync"
)

// kernelLocks is the table of kernel locks that this process holds and waits for.
var kernelLocks = newKernelTable()

// Kernel is the kernel lock on the file at path: flock, on Windows LockFileEx. Its leases are *[KernelLease].
//
// The file is the lock itself. It is made with mode 0600 if it is missing and from then on stays: nobody renames or removes
// it or its directory; a holder under whom somebody does has lost it. The kernel lets go of the lock when its holder ends in
// whatever way, so there are no dead holders to recover from, and a child that was started meanwhile does not keep it. Other
// programs that lock the same file in the same way exclude and are excluded.
//
// Its content is the [Metadata] of its last exclusive holder. A file that has another content keeps it, and has no metadata;
// a number alone is metadata of an older form, and is replaced.
//
// Not to be mixed with a record lock ([Record], [Acquire]) on one path: one is a file that stays, the other one that comes and
// goes.
//
// Links in the directory of path are followed. The file itself must be regular and have one name: a link, a FIFO, a device,
// a directory or a file with a second name is refused with an [ErrUnsafePath] before anything is written. Where path may be
// prepared by somebody else, see [KernelAt].
//
// Acquire waits as long as [Wait] says, to the millisecond, and is woken when the holder lets go (Linux; elsewhere, and where
// the system refuses to watch, it looks at least each 10 ms; on a network file system, for a holder on another machine, each
// 200 ms). The goroutines of one process come first come, first served. The errors, with nothing written, though the file
// may have been made, and then stays:
//   - *HeldError, matching [ErrHeld]: the wait ran out. On Linux the kernel names the holder; elsewhere, and where the kernel
//     does not show it, the file's [Metadata] does, which is a hint: see [Holder].
//   - the context's error and cause, if it ended first.
//   - [ErrReentrant]: the context comes from a [Do] that holds this lock.
//   - *UnsafePathError, matching [ErrUnsafePath].
//   - *Error with the system's reason; [errors.ErrUnsupported] where the file system has no such locks.
//   - [ErrInvalidPath].
//
// Of the options [Wait], [Logger], [OnWait], [Eager] and [Shared] apply; the others are ignored.
func Kernel(path string, opts ...Option) Locker {
	return kernelLocker{kernelPath{path: path}, newOptions(opts)}
}

// KernelAt is [Kernel] for a path below the directory root whose entries others may have made. Links in root are followed,
// none below it: a path that leaves root, or that meets a link (on Windows also a junction), is refused with an [ErrUnsafePath].
// The directories must exist.
func KernelAt(root, path string, opts ...Option) Locker {
	return kernelLocker{kernelPath{root: root, path: path, beneath: true}, newOptions(opts)}
}

// Instance takes the kernel lock on the file at path for a program that may run only once: if err is nil, every later start
// fails with a *HeldError that names this process until this one has ended or released it. It does not wait unless [Wait] is
// given, and is nobody's reader: [Shared] is ignored. What a process that has ended left in the file is no obstacle.
func Instance(path string, opts ...Option) (*KernelLease, error) {
	o := newOptions(append([]Option{Wait(0)}, opts...))
	o.shared = false
	return acquireKernel(context.Background(), osSystem{}, kernelLocks, kernelPath{path: path}, o)
}

type kernelLocker struct {
	where kernelPath
	opts  options
}

func (k kernelLocker) Acquire(ctx context.Context) (Lease, error) {
	l, err := acquireKernel(ctx, osSystem{}, kernelLocks, k.where, k.opts)
	if err != nil {
		return nil, err
	}
	return l, nil
}

func (k kernelLocker) TryAcquire(ctx context.Context) (Lease, error) {
	k.opts.wait = 0
	return k.Acquire(ctx)
}

// KernelLease is a held kernel lock. It is held until Release or the end of the process, whether or not the caller keeps it.
// Its methods may be called from any goroutine.
type KernelLease struct {
	sys    kernelSystem
	table  *kernelTable
	log    *slog.Logger
	file   lockFile
	key    key
	place  *place
	path   string
	shared bool

	mu    sync.Mutex
	done  chan struct{}
	err   error // nil while held
	ended bool  // Release has begun
	timer timer
	watch *closeWatch // of the wait, if there was one
}

// Path is the lock file's absolute path.
func (l *KernelLease) Path() string { return l.path }

// Done is closed when this holding is over: released or lost.
func (l *KernelLease) Done() <-chan struct{} { return l.done }

// Err is nil while the lock is held, a *LostError once the lock file was found removed or replaced, and [ErrReleased] after
// a release.
func (l *KernelLease) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Check looks at the disk now: nil if the path still names the locked file, or if the system does not say, a *LostError if it
// does not (then Done is closed), and [ErrReleased] after a release. Without it a loss is noticed within 400 ms and at Release.
func (l *KernelLease) Check() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.verify()
	}
	return l.err
}

// WriteMetadata replaces what the lock file says of its holder; acquiring wrote this process and a number that counts its
// locks. It is for a holder that works for another process. It fails if the lease is shared or over, and if the file has
// meanwhile got a second name, or a content that is no metadata; then nothing is written. After an error of the disk's the
// file may say anything.
func (l *KernelLease) WriteMetadata(m Metadata) error { return l.writeMetadata(m) }

// Release gives the lock up and leaves the file as it is. The first call acts; others, from any goroutine, return nil. A lock
// that was lost returns its *LostError, and what lies at the path is not touched.
func (l *KernelLease) Release() error { return l.release() }
