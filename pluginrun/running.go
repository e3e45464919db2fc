package pluginrun

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/internal/sys"
)

// outcome is how a run came to its end: by itself, or why it was ended.
type outcome struct {
	err  error // nil: the program ended by itself
	gone bool  // nothing of the tree is left
}

// ending is the end of a program.
type ending struct {
	exitCode int
	signal   string
	at       time.Time
}

// watch waits for the end of the program, or for a reason to end it. It returns when the program has ended, or could not be
// ended.
func (op *operation) watch(ctx context.Context) outcome {
	op.watched = true
	reaped, child := make(chan ending, 1), op.child // which survivors may outlast op
	go func() {
		code, signal := child.reap()
		reaped <- ending{code, signal, op.sys.now()}
	}()
	silence, stop := op.watchIdle()
	defer stop()
	var why error
	select {
	case e := <-reaped:
		op.ended(e)
		return outcome{nil, op.drain()}
	case <-ctx.Done():
		why = op.cancelled(ctx)
	case <-silence:
		why = &IdleError{Dir: op.dir, Program: op.opts.program, PID: op.child.pid(), Limit: op.opts.idleLimit, Log: op.out.path}
	case <-op.lock.Done():
		why = op.lock.Err()
	}
	op.log.Debug("ending the run", "pid", op.child.pid(), "why", why)
	if op.end() {
		op.ended(<-reaped)
		return outcome{why, op.drain()}
	}
	op.child.closeOutput()
	op.settleOutput(op.sys.now().Add(drainBound))
	select {
	case e := <-reaped:
		op.ended(e)
	default:
	}
	return outcome{why, false}
}

func (op *operation) ended(e ending) {
	op.result.ExitCode, op.result.Signal, op.result.Duration = e.exitCode, e.signal, e.at.Sub(op.began)
}

func (op *operation) cancelled(ctx context.Context) error {
	e := &CancelledError{Dir: op.dir, Program: op.opts.program, Err: ctx.Err(), Cause: context.Cause(ctx)}
	if op.child != nil {
		e.PID = op.child.pid()
	}
	return e
}

// watchIdle returns what is closed when nothing was printed for the idle limit.
func (op *operation) watchIdle() (silence <-chan struct{}, stop func()) {
	limit := op.opts.idleLimit
	if limit <= 0 || op.opts.attached {
		return nil, func() {}
	}
	silent := make(chan struct{})
	var t timer
	ready := make(chan struct{})
	t = op.sys.after(limit, func() {
		<-ready
		if left := limit - op.out.quiet(op.sys.now()); left > 0 {
			t.Reset(left)
			return
		}
		close(silent)
	})
	close(ready)
	return silent, func() { t.Stop() }
}

// drain waits for what outlasts the program, output, its taking, and processes, for two seconds in all. It reports whether
// the tree is gone.
func (op *operation) drain() (gone bool) {
	deadline := op.sys.now().Add(drainBound)
	gone = op.gone(deadline)
	op.settleOutput(deadline)
	return gone
}

// settleOutput waits until the output has ended and was taken, and from the deadline on does without the rest.
func (op *operation) settleOutput(deadline time.Time) {
	late := make(chan struct{})
	t := op.sys.after(deadline.Sub(op.sys.now()), func() { close(late) })
	defer t.Stop()
	select {
	case <-op.out.done:
		return
	case <-late:
	}
	select {
	case <-op.out.done: // while we waited for processes
		return
	default:
	}
	op.result.OutputCut = true
	if op.out.abandon() {
		defer op.sys.after(catchUp, op.child.closeOutput).Stop()
	} else {
		op.child.closeOutput()
	}
	<-op.out.read
}

// catchUp is how long what was kept waiting by a writer may take to get into the log: it is in a pipe, and no more is.
const catchUp = 100 * time.Millisecond

// end asks the tree to end, kills what does not, and reports whether it is gone.
func (op *operation) end() (gone bool) {
	asked := op.child.terminate()
	for deadline := op.sys.now().Add(op.opts.killAfter); asked && op.sys.now().Before(deadline); op.child.terminate() {
		if op.gone(earlier(deadline, op.sys.now().Add(endPause))) {
			return true
		}
	}
	for deadline := op.sys.now().Add(goneBound); ; {
		op.child.kill()
		if op.gone(earlier(deadline, op.sys.now().Add(endPause))) {
			return true
		}
		if !op.sys.now().Before(deadline) {
			return false
		}
	}
}

// endPause is how often those are asked and killed that started while their parents were.
const endPause = 100 * time.Millisecond

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// gone waits until two looks in a row find no process of the tree, or the deadline has passed. Its processes are then the
// result's survivors: none that is known, if none could be looked for. The program itself counts until it has ended.
func (op *operation) gone(deadline time.Time) bool {
	for pause, clear := secondLook, 0; ; {
		members, err := op.child.members()
		op.result.Survivors = members
		if len(members) > 0 || err != nil {
			clear = 0
		} else if clear++; clear == 2 {
			return true
		}
		if clear == 0 && !op.sys.now().Before(deadline) {
			return false
		}
		_ = op.sys.pause(context.Background(), pause)
		pause = min(2*pause, lastLook)
	}
}

// secondLook is the pause before the tree is looked at once more.
const secondLook = 5 * time.Millisecond

// windUp settles what the run leaves: files restored or copies dropped, then the record removed if the tree is gone.
func (op *operation) windUp(o outcome) error {
	op.windsUp = true
	r := op.result
	r.Tail, r.TailCut = op.out.end()
	r.OutputErr = op.out.failure()
	if o.err == nil && r.ExitCode == 0 {
		return op.succeeded(o.gone)
	}
	if !o.gone && o.err == nil {
		o.gone = op.end()
	}
	if !o.gone {
		return &SurvivorsError{Dir: op.dir, Record: op.place.record(), Processes: r.Survivors, Err: o.err}
	}
	if err := op.lock.Check(); err != nil {
		return op.lostLock(err)
	}
	if err := op.inPlace(); err != nil {
		return err
	}
	var err error
	if r.Restored, err = op.copies.restore(op); err != nil {
		return err
	}
	op.unrecord()
	return o.err
}

// succeeded keeps what the program did. Its record stays as long as something of it runs.
func (op *operation) succeeded(gone bool) error {
	if err := op.lock.Check(); err != nil {
		kept := op.copies.drop(op)
		if gone && kept == nil {
			op.unrecord()
		}
		return &LostError{Dir: op.dir, Err: err, Kept: kept}
	}
	if err := op.inPlace(); err != nil {
		return err
	}
	if err := op.copies.drop(op); err != nil {
		return err
	}
	if gone {
		op.unrecord()
		return nil
	}
	op.log.Info("the run has ended, but something that it started goes on; its record stays as long",
		"path", op.place.record(), "processes", listed(op.result.Survivors))
	return nil
}

var (
	errMoved   = errors.New("it was moved or removed")
	errMovedOn = fmt.Errorf("%w while the program ran; its record and the copies are in it, and the next run there restores the files as they were before", errMoved)
)

// inPlace looks whether the profile is still where it was: by its path we would run in another one otherwise, whose lock we do
// not have, or settle that one and leave this one's copies as if its program had been killed.
func (op *operation) inPlace() error {
	id, err := op.sys.identify(op.place.dir)
	if err == nil && id != op.id || sys.IsKind(err, sys.NotExist, sys.NotDirectory) {
		err = errMoved
		if op.result != nil {
			err = errMovedOn
		}
	}
	if err != nil {
		return &Error{"find the profile again", op.place.dir, err}
	}
	return nil
}

// lostLock leaves the files as they are: somebody else may have written them meanwhile.
func (op *operation) lostLock(err error) error {
	aside, failed := op.setAside()
	if failed == nil {
		op.unrecord()
	}
	return &LostError{Dir: op.dir, Aside: aside, Err: err, Kept: failed}
}
