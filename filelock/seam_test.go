package filelock

import (
	"context"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/internal/sys"
)

// step is one call through the seam, before or after its effect.
type step struct {
	op    string
	name  string
	after bool
}

func (s step) lock() bool  { return strings.HasSuffix(s.name, lockSuffix) }
func (s step) claim() bool { return strings.Contains(s.name, ".takeover-") }

// stepped is a machine whose every step can be watched, held up, failed or refused. Processes and clock are real unless
// they are replaced.
type stepped struct {
	system
	on       func(step) error // an error stands for the call's own
	pid      int              // 0: the real one
	alone    bool             // has no boot to write down, like a system without attributes
	linger   bool
	probes   func(pid int) sys.Process
	mu       sync.Mutex
	virtual  time.Duration // what pauses have added to the clock
	pauseFor bool          // pauses end at once and move the clock
	began    time.Time
	pauses   func(ctx context.Context, d time.Duration, wake <-chan struct{}) error // nil: as above
	wakes    atomic.Int32                                                           // how often a watch has told
}

func newStepped(on func(step) error) *stepped {
	return &stepped{system: osSystem{}, on: on, began: time.Now()}
}

func do(s *stepped, op, name string, effect func() error) error {
	if s.on != nil {
		if err := s.on(step{op, name, false}); err != nil {
			return err
		}
	}
	err := effect()
	if s.on != nil {
		if after := s.on(step{op, name, true}); after != nil {
			return after
		}
	}
	return err
}

func (s *stepped) self() sys.Self {
	me := s.system.self()
	if s.pid != 0 {
		me.PID = s.pid
	}
	if s.alone {
		me.Boot = [16]byte{}
	}
	return me
}

func (s *stepped) namesLinger() bool { return s.linger || s.system.namesLinger() }

func (s *stepped) probe(pid int) (p sys.Process) {
	_ = do(s, "probe", "", func() error {
		if s.probes != nil {
			p = s.probes(pid)
		} else {
			p = s.system.probe(pid)
		}
		return nil
	})
	return p
}

func (s *stepped) now() time.Time {
	if !s.pauseFor {
		return s.system.now()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.began.Add(s.virtual)
}

func (s *stepped) pause(ctx context.Context, d time.Duration, wake <-chan struct{}) error {
	return do(s, "pause", "", func() error {
		if s.pauses != nil {
			return s.pauses(ctx, d, wake)
		}
		if !s.pauseFor {
			return s.system.pause(ctx, d, wake)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.virtual += d
		return context.Cause(ctx)
	})
}

// Nobody is woken by a clock that does not run.
func (s *stepped) watchExit(pid int, wake func()) (stop func(), err error) {
	if s.pauseFor && s.pauses == nil {
		return nil, sys.Unsupported
	}
	err = do(s, "watchExit", "", func() error { stop, err = s.system.watchExit(pid, s.counted(wake)); return err })
	return stop, err
}

func (s *stepped) counted(wake func()) func() {
	return func() {
		s.wakes.Add(1)
		wake()
	}
}

func (s *stepped) openDir(path string) (d directory, err error) {
	err = do(s, "openDir", path, func() (err error) { d, err = s.system.openDir(path); return })
	if err != nil {
		if d != nil {
			d.Close()
		}
		return nil, err
	}
	return &steppedDir{d, s}, nil
}

type steppedDir struct {
	directory
	s *stepped
}

func (d *steppedDir) Lstat(name string) (info sys.Info, err error) {
	err = do(d.s, "lstat", name, func() (err error) { info, err = d.directory.Lstat(name); return })
	return info, err
}

func (d *steppedDir) watch(name string, wake func()) (stop func(), err error) {
	if d.s.pauseFor && d.s.pauses == nil {
		return nil, sys.Unsupported
	}
	err = do(d.s, "watch", name, func() error { stop, err = d.directory.watch(name, d.s.counted(wake)); return err })
	return stop, err
}

func (d *steppedDir) open(name string) (file, error) {
	return d.file("open", name, func() (file, error) { return d.directory.open(name) })
}

func (d *steppedDir) createUnnamed(perm fs.FileMode) (file, error) {
	return d.file("createUnnamed", "", func() (file, error) { return d.directory.createUnnamed(perm) })
}

func (d *steppedDir) createNew(name string, perm fs.FileMode) (file, error) {
	return d.file("createNew", name, func() (file, error) { return d.directory.createNew(name, perm) })
}

func (d *steppedDir) file(op, name string, open func() (file, error)) (file, error) {
	var f file
	err := do(d.s, op, name, func() (err error) { f, err = open(); return })
	if err != nil {
		if f != nil {
			f.Close()
		}
		return nil, err
	}
	return &steppedFile{f, d.s, name}, nil
}

func (d *steppedDir) linkUnnamed(f file, name string) error {
	return do(d.s, "linkUnnamed", name, func() error { return d.directory.linkUnnamed(f.(*steppedFile).file, name) })
}

func (d *steppedDir) moveNew(f file, from, to string) error {
	return do(d.s, "moveNew", to, func() error { return d.directory.moveNew(f.(*steppedFile).file, from, to) })
}

func (d *steppedDir) Link(from, to string) error {
	return do(d.s, "link", to, func() error { return d.directory.Link(from, to) })
}

func (d *steppedDir) replace(f file, from, to string) error {
	return do(d.s, "replace", to, func() error { return d.directory.replace(f.(*steppedFile).file, from, to) })
}

func (d *steppedDir) remove(name string, f file) error {
	return do(d.s, "remove", name, func() error { return d.directory.remove(name, f.(*steppedFile).file) })
}

type steppedFile struct {
	file
	s    *stepped
	name string
}

func (f *steppedFile) Write(p []byte) (n int, err error) {
	err = do(f.s, "write", f.name, func() (err error) { n, err = f.file.Write(p); return })
	return n, err
}

func (f *steppedFile) ReadAt(p []byte, at int64) (n int, err error) {
	err = do(f.s, "read", f.name, func() (err error) { n, err = f.file.ReadAt(p, at); return })
	return n, err
}

func (f *steppedFile) SetAttribute(name string, value []byte) error {
	return do(f.s, "setAttribute", f.name, func() error { return f.file.SetAttribute(name, value) })
}

func (f *steppedFile) Attribute(name string, buf []byte) (n int, err error) {
	err = do(f.s, "attribute", f.name, func() error { n, err = f.file.Attribute(name, buf); return err })
	return n, err
}

func (f *steppedFile) TryLock(exclusive bool) error {
	op := "tryShared"
	if exclusive {
		op = "tryExclusive"
	}
	return do(f.s, op, f.name, func() error { return f.file.TryLock(exclusive) })
}

func (f *steppedFile) Close() error {
	return do(f.s, "close", f.name, func() error { return f.file.Close() })
}

// refuse answers the ops named with err.
func refuse(err error, ops ...string) func(step) error {
	return func(s step) error {
		for _, op := range ops {
			if s.op == op && !s.after {
				return err
			}
		}
		return nil
	}
}

// formRefusals leave one form of publishing to try first.
var formRefusals = map[form][]string{
	unnamed:   nil,
	moved:     {"createUnnamed"},
	linked:    {"createUnnamed", "moveNew"},
	exclusive: {"createUnnamed", "moveNew", "link"},
}
