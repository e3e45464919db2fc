package locktest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/filelock"
)

func TestMain(m *testing.M) {
	kinds := []Kind{sound}
	for _, b := range broken {
		kinds = append(kinds, b.kind())
	}
	Main(kinds...)
	os.Exit(m.Run())
}

func lockedFile(s Setting) string { return filepath.Join(s.Dir, s.Name) }

var sound = Kind{
	Name: "sound",
	New:  func(s Setting) filelock.Locker { return filelock.Record(lockedFile(s), s.Options()...) },
	Lose: losing(),
	Told: true, ToldLater: true,
}

// losing is nil where a lock that is held cannot be deleted.
func losing() func(Setting) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	return func(s Setting) error { return os.Remove(lockedFile(s) + ".lock") }
}

func TestSound(t *testing.T) { Run(t, sound) }

func TestSkips(t *testing.T) {
	k := sound
	k.Lose, k.Unordered = nil, true
	for _, c := range checks {
		switch c.name {
		case "a loss is told", "a loss ends Do", "a loser touches nothing", "first come first served":
			said, skipped := observe(t, k, c, patience)
			assert.True(t, skipped, c.name)
			assert.Empty(t, said, c.name)
		}
	}
}

// A Locker with leases of its own can tell a nested acquisition.
func TestForeignLease(t *testing.T) {
	d := defect{
		acquire: func(ctx context.Context, s Setting, try bool) (filelock.Lease, error) {
			if filelock.HeldBy(ctx, func(l filelock.Lease) bool { c, ok := l.(*changed); return ok && c.of == s.Name }) {
				return nil, filelock.ErrReentrant
			}
			return soundly(ctx, s, try)
		},
		lease: func(s Setting, l filelock.Lease) filelock.Lease { return &changed{Lease: l, of: s.Name} },
	}
	named(t, "a nested acquisition").run(newTrial(t, d.kind(), patience))
}

// A test package that does not call Main, or leaves a kind out, is told so.
func TestMainMissing(t *testing.T) {
	k := sound
	k.Name = "left out"
	said, _ := observe(t, k, named(t, "one holder"), patience)
	assert.Contains(t, said, `locktest.Main was not given the kind "left out"`)
}

// Each broken Locker is caught by the checks that are named, for the reason that is named.
func TestBroken(t *testing.T) {
	catches := map[string]bool{}
	for _, b := range broken {
		t.Run(b.name, func(t *testing.T) {
			if b.linux && runtime.GOOS != "linux" {
				t.Skip("descriptors are not listed here")
			}
			if _, counts := b.by["nothing is left"]; !counts {
				t.Parallel()
			}
			for check, says := range b.by {
				said, skipped := observe(t, b.kind(), named(t, check), 2*time.Second)
				if !skipped && !strings.Contains(said, says) { // on a busy machine it may have said something else
					said, skipped = observe(t, b.kind(), named(t, check), patience)
				}
				if skipped {
					assert.Nil(t, sound.Lose, "%s was skipped", check)
					continue
				}
				assert.NotEmpty(t, said, "%s let it pass", check)
				assert.Contains(t, said, says, check)
			}
		})
		for check := range b.by {
			catches[check] = true
		}
	}
	for _, c := range checks {
		assert.True(t, catches[c.name], "no broken Locker shows that %q catches anything", c.name)
	}
}

func named(t *testing.T, name string) check {
	t.Helper()
	for _, c := range checks {
		if c.name == name {
			return c
		}
	}
	require.FailNow(t, "no such check", name)
	return check{}
}

// recorder is a test whose failures are written down.
type recorder struct {
	testing.TB
	dir      string
	mu       sync.Mutex
	said     string
	skipped  bool
	cleanups []func()
}

// observe runs a check that may fail: what it says, and whether it was skipped.
func observe(t *testing.T, k Kind, c check, patience time.Duration) (said string, skipped bool) {
	t.Helper()
	// an acquisition that was given up on may still write there: t.TempDir would mind
	dir, err := os.MkdirTemp("", "locktest")
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	r := &recorder{TB: t, dir: dir}
	var running sync.WaitGroup
	running.Go(func() { c.run(newTrial(r, k, patience)) })
	running.Wait()
	for n := len(r.cleanups) - 1; n >= 0; n-- {
		r.cleanups[n]()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.said, r.skipped
}

func (r *recorder) TempDir() string  { return r.dir }
func (r *recorder) Helper()          {}
func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }

func (r *recorder) Errorf(format string, args ...any) { r.Error(fmt.Sprintf(format, args...)) }

func (r *recorder) Error(args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.said += fmt.Sprintln(args...)
}

func (r *recorder) Fatalf(format string, args ...any) { r.Fatal(fmt.Sprintf(format, args...)) }

func (r *recorder) Fatal(args ...any) {
	r.Error(args...)
	runtime.Goexit()
}

func (r *recorder) Skip(...any) {
	r.skipped = true
	runtime.Goexit()
}

// Options carry over what a Setting says.
func TestOptions(t *testing.T) {
	waits := 0
	l := filelock.Record(filepath.Join(t.TempDir(), "f"), Setting{Wait: 0, OnWait: func() { waits++ }}.Options()...)
	lease, err := l.Acquire(context.Background())
	require.NoError(t, err)
	_, err = l.Acquire(context.Background())
	require.ErrorIs(t, err, filelock.ErrHeld)
	assert.Zero(t, waits)
	require.NoError(t, lease.Release())
	var held *filelock.HeldError
	require.ErrorAs(t, err, &held)
	assert.Zero(t, held.Waited)
}
