package pluginrun

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/filelock"
	"github.com/holdfast-go/holdfast/internal/oneline"
	"github.com/holdfast-go/holdfast/internal/sys"
)

// The protocol, and where each state lives:
//
//	finding     the program, before anything is waited for
//	locking     package.json.lock
//	clearing    a recorded run: stopped, or waited for, or refused                  (leftover.go)
//	            then what it left to restore is restored, then its record removed
//	copying     manifest and lockfiles, the index of the copies last                (restore.go)
//	gated       the child exists, its program does not run
//	recorded    the record names the child
//	running     the program runs                                                    (running.go)
//	  exit 0    -> succeeded: the copies are dropped
//	  other     -> ending: the tree is ended, then the files are restored
//	  context, idle limit, lock lost
//	            -> ending
//	winding up  the record is removed if the tree is gone, then the lock
//
// If we are killed in a state up to gated, there is at most an index of copies without a run: the next run restores files
// that nobody has changed. From recorded on there is a record, which keeps the next run waiting while anything runs, and the
// copies, which it restores from; a child that is still gated ends with us.

// operation is one run, from its first step to its last.
type operation struct {
	sys   system
	opts  options
	log   *slog.Logger
	dir   string // the profile, as it was given
	place place
	id    sys.FileID // of the profile
	path  string     // of the program
	args  []string
	token string // what tells this run from all others, in its mark and in the name of its copies
	lock  lock

	leftover *Leftover
	copies   *copies
	out      *output
	child    process
	record   recordID
	began    time.Time
	result   *Result
	watched  bool // somebody waits for the program's end
	windsUp  bool
}

// active are the profiles in which this process has a run.
type active struct {
	mu       sync.Mutex
	profiles map[sys.FileID]bool
}

var thisProcess = newActive()

func newActive() *active { return &active{profiles: map[sys.FileID]bool{}} }

func (a *active) enter(id sys.FileID) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.profiles[id] {
		return false
	}
	a.profiles[id] = true
	return true
}

func (a *active) leave(id sys.FileID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.profiles, id)
}

func run(ctx context.Context, s system, a *active, dir string, o options, args []string) (result *Result, err error) {
	op := &operation{sys: s, opts: o, log: o.logger, dir: dir, place: place{dir}, args: args}
	op.token = op.newToken()
	if err := op.find(); err != nil {
		return nil, err
	}
	if !a.enter(op.id) {
		return nil, op.reentrant()
	}
	defer a.leave(op.id)
	if err := op.acquire(ctx); err != nil {
		return nil, err
	}
	defer func() {
		if released := op.lock.Release(); released != nil && !errors.Is(err, filelock.ErrLost) { // what became of the run is settled
			op.log.Warn("the lock was not released as it should be", "err", released)
		}
	}()
	err = op.locked(ctx)
	return op.result, err
}

// find settles everything that needs no lock: the program, the profile, and whether we would wait for ourselves.
func (op *operation) find() error {
	if slices.ContainsFunc(op.opts.restore, func(name string) bool { return !filepath.IsLocal(name) }) {
		return &Error{"restore files outside the profile", op.place.dir, errNotLocal}
	}
	env := op.opts.env
	if env == nil {
		env = op.sys.environ()
	}
	op.opts.env = env
	var err error
	if op.path, err = op.sys.lookPath(op.opts.program, env); err != nil {
		return op.notRun("", err)
	}
	if err := op.sys.makeDir(op.place.dir, 0o777); err != nil {
		return &Error{"make the profile's directory", op.place.dir, err}
	}
	if op.id, err = op.sys.identify(op.place.dir); err != nil {
		return &Error{"look at the profile's directory", op.place.dir, err}
	}
	op.settle()
	if op.within() {
		return op.reentrant()
	}
	return nil
}

// settle makes the profile's path absolute: what is restored and removed by it must be in the profile also when our working
// directory is another by then. Where that path does not lead there, as below a directory that we may not search, it stays.
func (op *operation) settle() {
	dir, err := op.sys.absolute(op.place.dir)
	if err != nil {
		return
	}
	if id, err := op.sys.identify(dir); err == nil && id == op.id {
		op.place.dir = dir
	}
}

// within reports whether we are part of a run in this profile that is on: our mark names it, and its copies are in their
// place, as they are until it has succeeded or its files are restored. Nobody restores them while we live, if we are seen.
// The mark alone says little: whatever a run has left behind keeps it.
func (op *operation) within() bool {
	for _, v := range op.sys.environ() {
		words, found := strings.CutPrefix(v, Variable+"=")
		if !found {
			continue
		}
		for word := range strings.FieldsSeq(words) {
			token, ours := strings.CutPrefix(word, profileMark(op.id))
			if !ours || !isToken(token) {
				continue
			}
			_, err := op.sys.lstat(sys.Below(op.place.copiesOf(token), indexName))
			if !sys.IsKind(err, sys.NotExist, sys.NotDirectory) {
				return true
			}
		}
	}
	return false
}

func (op *operation) reentrant() error {
	return fmt.Errorf("%s: %w", oneline.Path(op.dir), ErrReentrant)
}

func (op *operation) newToken() string {
	var random [tokenSize]byte
	op.sys.random(random[:])
	return hex.EncodeToString(random[:])
}

// notRun is why the program was not started; path is where it was found, if it was.
func (op *operation) notRun(path string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) && !sys.IsKind(err, sys.NotDirectory) {
		return &StartError{op.opts.program, err}
	}
	if path != "" {
		if _, gone := op.sys.stat(path); gone != nil {
			path = ""
		}
	}
	return &NotFoundError{op.opts.program, path, err}
}

func (op *operation) acquire(ctx context.Context) (err error) {
	opts := []filelock.Option{filelock.Wait(op.opts.lockWait), filelock.Logger(op.opts.logger)}
	if op.opts.onWait != nil {
		opts = append(opts, filelock.OnWait(op.opts.onWait))
	}
	if op.opts.onAcquire != nil {
		opts = append(opts, filelock.OnAcquire(op.opts.onAcquire))
	}
	op.lock, err = op.sys.lock(ctx, op.place.manifest(), opts)
	return err
}

// locked is everything that happens under the lock.
func (op *operation) locked(ctx context.Context) error {
	returned := false
	defer func() {
		if !returned {
			op.abort()
		}
	}()
	err := op.steps(ctx)
	returned = true
	return err
}

// abort is for a panic of a callback or of a log's handler, which goes on: what was started does not go on behind it. The record
// and the copies stay, and the next run restores.
func (op *operation) abort() {
	switch {
	case op.child == nil:
		return
	case op.windsUp:
	case op.result == nil: // behind its gate
		op.child.abandon()
		defer op.out.discard(op)
	default:
		if !op.watched {
			go op.child.reap()
		}
		op.end()
		op.settleOutput(op.sys.now().Add(drainBound))
		op.out.end()
	}
	op.close()
}

// close lets go of the child and of its record.
func (op *operation) close() {
	op.closeRecord()
	op.child.close()
	op.child = nil
}

// steps is locked, but for a panic.
func (op *operation) steps(ctx context.Context) error {
	if err := op.inPlace(); err != nil {
		return err
	}
	if err := op.sys.makeDir(op.place.own(), 0o700); err != nil {
		return &Error{"make a directory", op.place.own(), err}
	}
	if err := op.clear(ctx); err != nil {
		return err
	}
	err := op.copy()
	if err == nil {
		err = op.begin(ctx)
	}
	if err != nil {
		if dropped := op.copies.drop(op); dropped != nil {
			op.log.Warn("copies could not be removed", "path", op.copies.dir, "err", dropped)
		}
		return err
	}
	err = op.windUp(op.watch(ctx))
	op.close()
	return err
}
