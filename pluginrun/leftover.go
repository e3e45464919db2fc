package pluginrun

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/internal/sys"
)

// How often a run is looked at that is waited for. A look reads the list of processes.
const (
	firstLook = 15 * time.Millisecond
	lastLook  = 60 * time.Millisecond
)

// sighting is one look at the record and what was concluded.
type sighting struct {
	found     bool // there is a record
	id        recordID
	run       recordedRun
	verdict   Verdict
	proof     string
	since     time.Time
	processes []Process
}

// look reads and judges the record, and looks for processes of this profile's runs that no record names any more.
func (op *operation) look() (sighting, error) {
	mark := profileMark(op.id)
	f, err := op.sys.openRecord(op.place.own())
	if sys.IsKind(err, sys.NotExist) {
		marked, err := op.sys.marked(mark)
		s := sighting{verdict: Stopped, processes: marked}
		switch {
		case len(marked) > 0:
			s.verdict, s.proof = Running, markedProcess
		case err != nil:
			s.verdict, s.proof = Unproven, noAnswer
		}
		return s, nil
	}
	if err != nil {
		return sighting{}, &Error{"look at the record", op.place.record(), err}
	}
	if !f.info.Regular() {
		return sighting{}, &RecordError{op.place.record(), "it is not a regular file"}
	}
	r, why := parseRecord(f.data)
	if why != "" {
		return sighting{}, &RecordError{op.place.record(), why}
	}
	s := sighting{found: true, id: recordID{file: f.info.ID, data: string(f.data)}, run: r, since: f.info.ModTime}
	e := evidence{
		run: r, groups: op.sys.hasGroups(), local: f.local, me: op.sys.self(), process: op.sys.probe, group: op.sys.probeGroup,
	}
	if f.attribute != nil && int64(f.attribute.PID) == r.pid {
		e.attribute, s.since = f.attribute, f.attribute.Prepared
	}
	s.processes, err = op.sys.marked(mark)
	e.marked, e.unseen = len(s.processes) > 0, err != nil
	s.verdict, s.proof = judge(e)
	if s.verdict == Running && !e.marked {
		s.processes = op.sys.recorded(r)
		// What a run has left behind may ask for the next one: it does not wait for itself.
		if s.proof == processRuns && r.grouped && len(s.processes) == 0 && e.me.SeesAll && op.sys.inGroup(int(r.pid)) {
			s.verdict, s.proof = Stopped, onlyOurselves
		}
	}
	return s, nil
}

// clear waits until the recorded run has stopped, finishes what it left to restore and removes its record. After an error
// the record is as it was.
func (op *operation) clear(ctx context.Context) error {
	started := op.sys.now()
	s, err := op.stopped(ctx, started)
	if err != nil {
		return err
	}
	if s.found {
		op.leftover = &Leftover{PID: s.run.pid, Grouped: s.run.grouped, Proof: s.proof, Waited: op.sys.now().Sub(started)}
		op.log.Info("found the record of a run that has stopped: its manager was killed, or had to leave it",
			"path", op.place.record(), "pid", s.run.pid, "proof", s.proof)
	}
	if err := op.finishRestore(); err != nil {
		return err
	}
	if s.found {
		if err := op.sys.removeRecord(op.place.own(), s.id); err != nil && !sys.IsKind(err, sys.NotExist) {
			return &Error{"remove the record of a run that has stopped", op.place.record(), err}
		}
	}
	return nil
}

// stopped returns the first look that finds no run. That nothing has the mark is believed only when seen twice: one look can
// miss a process that is just starting another.
func (op *operation) stopped(ctx context.Context, started time.Time) (sighting, error) {
	told := false
	for pause, clear := firstLook, 0; ; pause = min(2*pause, lastLook) {
		s, err := op.look()
		if err != nil {
			return s, err
		}
		if s.verdict == Stopped {
			if clear++; clear == 2 || !s.found && !told {
				return s, nil
			}
		} else {
			clear = 0
		}
		waited := op.sys.now().Sub(started)
		if s.verdict != Stopped {
			active := op.activeError(s, waited)
			if waited >= op.opts.leftoverWait {
				return s, active
			}
			if !told && op.opts.onLeftover != nil {
				op.opts.onLeftover(active)
			}
			told = true
		}
		if op.sys.pause(ctx, pause) != nil {
			return s, op.cancelled(ctx)
		}
		if err := op.lock.Check(); err != nil {
			return s, err
		}
	}
}

func (op *operation) activeError(s sighting, waited time.Duration) *ActiveError {
	e := &ActiveError{
		Dir: op.dir, PID: s.run.pid, Grouped: s.run.grouped, Processes: s.processes, Why: s.proof, Since: s.since, Waited: waited,
	}
	if s.found {
		e.Record = op.place.record()
	}
	return e
}
