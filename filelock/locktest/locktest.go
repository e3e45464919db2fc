// Package locktest holds every [filelock.Locker] to one table of checks, as package testing/fstest does for file systems.
//
// A test package names its kinds of lock once, lets the suite have the test binary when it starts it again as another
// process, and runs the checks:
//
//	var kinds = []locktest.Kind{{
//		Name: "Record",
//		New: func(s locktest.Setting) filelock.Locker {
//			return filelock.Record(filepath.Join(s.Dir, s.Name), s.Options()...)
//		},
//		Lose: func(s locktest.Setting) error { return os.Remove(filepath.Join(s.Dir, s.Name) + ".lock") },
//		Told: true, ToldLater: true,
//	}}
//
//	func TestMain(m *testing.M) {
//		locktest.Main(kinds...)
//		os.Exit(m.Run())
//	}
//
//	func TestLockers(t *testing.T) {
//		for _, k := range kinds {
//			t.Run(k.Name, func(t *testing.T) { locktest.Run(t, k) })
//		}
//	}
//
// It is a part of tests, so that, other than the packages that it tests, it calls the operating system wherever it needs to.
package locktest

import (
	"crypto/rand"
	"os"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/filelock"
)

// Kind is one kind of lock, and what it can do beyond what all must.
type Kind struct {
	// Name tells kinds of one test binary apart.
	Name string

	// New makes a Locker of the lock that s names. Settings with the same Dir and Name are one lock, in every process of
	// this test binary; two names are two locks.
	New func(s Setting) filelock.Locker

	// Lose takes the lock away from whoever holds it, as somebody outside may. Nil: nobody can, and nothing is checked.
	Lose func(s Setting) error

	// Told says that who waited for a killed holder is told so once it has the lock, through [filelock.TakeoverOf], and
	// ToldLater that it is so for those who come afterwards.
	Told, ToldLater bool

	// Unordered says that waiters of one process are not served in the order in which they came.
	Unordered bool
}

// Setting names a lock and says how its Locker waits.
type Setting struct {
	Dir  string // an empty directory for the lock, for kinds that lie in one
	Name string // of letters and digits, used nowhere else

	// Wait is how long Acquire waits; [filelock.Forever] is as long as its context lasts.
	Wait time.Duration

	// OnWait, if not nil, is to be called by an acquisition that has found the lock held and taken its place among those
	// who wait, before it pauses.
	OnWait func()
}

// Options are the setting's options for a Locker of package filelock.
func (s Setting) Options() []filelock.Option {
	opts := []filelock.Option{filelock.Wait(s.Wait)}
	if s.OnWait != nil {
		opts = append(opts, filelock.OnWait(func(filelock.Holder) { s.OnWait() }))
	}
	return opts
}

// patience is how long anything may take that is to happen at once, on a machine that is busy with something else.
const patience = 20 * time.Second

// Run runs each check as a subtest of t. They count goroutines and descriptors: nothing else may run in the process. The
// test package must call [Main].
func Run(t *testing.T, k Kind) {
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) { c.run(newTrial(t, k, patience)) })
	}
}

// Main ends the process if it was started by a check, once it has done what the check wants done in another process;
// otherwise it returns. Call it first in TestMain, or in an init function of the test package, with all kinds that the
// package runs.
func Main(kinds ...Kind) {
	if order, ok := os.LookupEnv(orderEnv); ok {
		os.Exit(obey(kinds, order))
	}
}

// check is one property.
type check struct {
	name string
	run  func(*trial)
}

var checks = []check{
	{"one holder", oneHolder},
	{"goroutines exclude each other", goroutines},
	{"processes exclude each other", processes},
	{"a dropped lease is held", dropped},
	{"two names are two locks", twoLocks},
	{"one try", oneTry},
	{"a wait ends", waitEnds},
	{"a release lets a waiter in", releaseWakes},
	{"first come first served", inOrder},
	{"a cancelled wait", cancelledWait},
	{"an ended context", endedContext},
	{"the end is told", endIsTold},
	{"released from another goroutine", releasedElsewhere},
	{"released twice", releasedTwice},
	{"released twice at once", releasedTwiceAtOnce},
	{"a killed holder", killedHolder},
	{"a loss is told", lossIsTold},
	{"a loss ends Do", lossEndsDo},
	{"a loser touches nothing", loserTouchesNothing},
	{"Do returns what its function returns", doReturns},
	{"a panic releases", panicReleases},
	{"a nested acquisition", nested},
	{"nothing is left", nothingIsLeft},
}

// trial is one check under way, with a lock of its own.
type trial struct {
	testing.TB
	kind     Kind
	setting  Setting
	patience time.Duration
}

func newTrial(t testing.TB, k Kind, patience time.Duration) *trial {
	return &trial{t, k, Setting{Dir: t.TempDir(), Name: "locktest" + rand.Text()}, patience}
}
