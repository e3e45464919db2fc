package pluginrun

import (
	"slices"
	"time"

	"github.com/holdfast-go/holdfast/internal/sys"
)

// State is what a look at a profile's runs found.
type State struct {
	Record    string    // the record's path
	Recorded  bool      // there is a record
	PID       int64     // the process that it names
	Grouped   bool      // that process leads a group of its own
	Since     time.Time // when the record was made; zero if unknown
	Verdict   Verdict
	Proof     string    // how the verdict is known, or why it is not; empty if nothing is there
	Processes []Process // of the run, as far as they were seen
	Restore   bool      // there is something to restore, which the next run will do once this one has stopped
}

// Inspect looks at the runs of the profile in dir and changes nothing. Without the lock, what it finds may be over when it
// returns. A record that names no run is a *[RecordError]; a profile that does not exist has none.
func Inspect(dir string) (*State, error) { return inspect(osSystem{}, dir) }

func inspect(s system, dir string) (*State, error) {
	op := &operation{sys: s, log: silent, place: place{dir}}
	state := &State{Record: op.place.record(), Verdict: Stopped}
	var err error
	op.id, err = s.identify(dir)
	if sys.IsKind(err, sys.NotExist) {
		return state, nil
	}
	if err != nil {
		return nil, &Error{"look at the profile's directory", dir, err}
	}
	op.settle()
	state.Record = op.place.record()
	seen, err := op.look()
	if err != nil {
		return nil, err
	}
	state.Recorded, state.PID, state.Grouped, state.Since = seen.found, seen.run.pid, seen.run.grouped, seen.since
	state.Verdict, state.Proof, state.Processes = seen.verdict, seen.proof, seen.processes
	left, err := op.findCopies()
	if err != nil {
		return nil, err
	}
	state.Restore = slices.ContainsFunc(left, func(f found) bool { return f.indexed })
	return state, nil
}
