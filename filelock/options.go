package filelock

import (
	"log/slog"
	"time"
)

// Option changes how a lock is acquired.
type Option func(*options)

type options struct {
	wait       time.Duration
	noTakeover bool
	logger     *slog.Logger
	onWait     func(Holder)
	onAcquire  func(*Lock)
	behalf     int
	eager      bool
	shared     bool
}

// silent is the logger where nobody listens.
var silent = slog.New(slog.DiscardHandler)

func newOptions(opts []Option) options {
	o := options{wait: DefaultWait}
	for _, set := range opts {
		set(&o)
	}
	if o.logger == nil {
		o.logger = silent
	}
	return o
}

// Wait sets how long to wait for the lock; [DefaultWait] if it is not given, [Forever] for no end. Zero or less is one
// try, which includes taking over a dead holder's lock. For a record lock the time is looked at after each try and a pause
// between two is not cut short, as in the Node library: a wait of 50 ms tries at 0, 20 and 60 ms. Other locks keep to the time.
func Wait(d time.Duration) Option { return func(o *options) { o.wait = max(d, 0) } }

// spent is what a contender that gives up after d says of its wait: one try has not waited.
func (o options) spent(d time.Duration) time.Duration {
	if o.wait == 0 {
		return 0
	}
	return d
}

// NoTakeover leaves a dead holder's lock in place: the acquisition waits for it like for a live one and its error says that
// the holder has exited.
func NoTakeover() Option { return func(o *options) { o.noTakeover = true } }

// Logger receives what happens: debug before and after each step of acquiring, info once after a wait of 3 s, warn on
// takeover, on loss and on a helper file that could not be removed. Nothing is logged without it.
func Logger(l *slog.Logger) Option { return func(o *options) { o.logger = l } }

// OnWait has f called before each pause of a wait, at most 200 ms apart, with whoever is in the way then: for a display.
// It runs on the waiting goroutine, which does not try again before f returns. If f panics, the acquisition ends and the
// panic goes on.
func OnWait(f func(Holder)) Option { return func(o *options) { o.onWait = f } }

// OnAcquire has f called once the lock is held, before Acquire returns and before With or Update runs its function: for a
// display, and to look at [Lock.Takeover] where the lock itself is not at hand. If f panics, the lock is released and the
// panic goes on.
func OnAcquire(f func(*Lock)) Option { return func(o *options) { o.onAcquire = f } }

// OnBehalfOf has the lock's record name the process pid instead of this one: a child of ours that does what the lock is
// for, and that we neither reap nor let begin before the lock is held. Others find the lock held as long as that process
// lives, even if we are killed; and, if they are Go programs, as long as we hold it. After a normal end release first and
// reap then: to others a child that was reaped is a dead holder.
func OnBehalfOf(pid int) Option { return func(o *options) { o.behalf = pid } }

// Eager keeps nothing back for contenders that only poll, as Node programs do each 200 ms: a waiter is woken at every change
// of the lock, a process that has just had it may have it again, and goroutines of one process hand it on among themselves
// for as long as they like. Where all contenders are Go programs a crowded lock then changes hands about twice as often; Node
// contenders beside it give up. Without it a process that was beaten to the lock and then gets it leaves it alone for the
// second that follows, at most as long as it is willing to wait.
func Eager() Option { return func(o *options) { o.eager = true } }

// Shared takes a kernel lock as a reader: any number of them hold it at once, or one holder without this option. A steady
// stream of readers in other processes can keep that one out; those of its own process, one try included, come after it once
// it waits. Readers write no metadata, but must be allowed to write to the file: some network file systems lock nothing
// else. Record and named locks, and [Instance], ignore it.
func Shared() Option { return func(o *options) { o.shared = true } }
