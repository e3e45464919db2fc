package filelock

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// panicking is a handler that panics at one message.
type panicking struct {
	slog.Handler
	at string
}

func (p panicking) Handle(_ context.Context, r slog.Record) error {
	if r.Message == p.at {
		panic(p.at)
	}
	return nil
}

func panicAt(message string) Option {
	return Logger(slog.New(panicking{slog.NewTextHandler(nil, &slog.HandlerOptions{Level: slog.LevelDebug}), message}))
}

// A panic of the caller's function goes on, and takes nothing with it: the lock can be had in this process and in others.
func TestPanics(t *testing.T) {
	held := func(t *testing.T, path string, p *process) func() {
		l, err := acquireFor(t, osSystem{}, p, path)
		require.NoError(t, err)
		return func() { require.NoError(t, l.Release()) }
	}
	deadHolder := func(t *testing.T, path string, _ *process) func() {
		write(t, path+lockSuffix, record(deadPID(t)))
		return func() {}
	}
	deadClaimant := func(t *testing.T, path string, _ *process) func() {
		dead := record(deadPID(t))
		write(t, path+lockSuffix, dead)
		write(t, path+claimName(lockSuffix, dead), record(deadPID(t)))
		return func() {}
	}
	byAnother := func(t *testing.T, path string, _ *process) func() { return held(t, path, newProcess()) }
	free := func(*testing.T, string, *process) func() { return func() {} }
	for name, c := range map[string]struct {
		before func(*testing.T, string, *process) func()
		opt    Option
		says   string
	}{
		"OnWait in the queue":      {held, OnWait(func(Holder) { panic("told") }), "told"},
		"OnWait":                   {byAnother, OnWait(func(Holder) { panic("told") }), "told"},
		"OnAcquire":                {free, OnAcquire(func(*Lock) { panic("told") }), "told"},
		"OnAcquire, released":      {free, OnAcquire(func(l *Lock) { _ = l.Release(); panic("told") }), "told"},
		"log: waiting":             {byAnother, panicAt("waiting for lock"), "waiting for lock"},
		"log: publishing":          {free, panicAt("publishing"), "publishing"},
		"log: acquired":            {free, panicAt("acquired lock"), "acquired lock"},
		"log: releasing":           {free, panicAt("releasing lock"), "releasing lock"},
		"log: about to take over":  {deadHolder, panicAt("ending a dead holder's lock"), "ending a dead holder's lock"},
		"log: took over":           {deadHolder, panicAt("took over the lock of a dead holder: what it protects may be half done"), "took over the lock of a dead holder: what it protects may be half done"},
		"log: adopted":             {deadClaimant, panicAt("adopted the claim of a dead claimant"), "adopted the claim of a dead claimant"},
		"log: took over, adopting": {deadClaimant, panicAt("took over the lock of a dead holder: what it protects may be half done"), "took over the lock of a dead holder: what it protects may be half done"},
	} {
		t.Run(name, func(t *testing.T) {
			path := target(t)
			p := newProcess()
			after := c.before(t, path, p)
			assert.PanicsWithValue(t, c.says, func() {
				l, err := acquire(context.Background(), osSystem{}, p, path, newOptions([]Option{c.opt}))
				if assert.NoError(t, err) {
					_ = l.Release()
				}
			})
			after()
			for _, e := range entries(t, path) {
				assert.NotEqual(t, string(record(os.Getpid())), read(t, filepath.Join(filepath.Dir(path), e)), "%s is ours", e)
			}
			assert.Empty(t, p.queues)
			assert.Empty(t, p.held)
			l, err := acquireFor(t, osSystem{}, p, path, Wait(0))
			require.NoError(t, err, "in this process")
			require.NoError(t, l.Release())
			l, err = try(t, path)
			require.NoError(t, err, "in another")
			require.NoError(t, l.Release())
			assert.Empty(t, entries(t, path))
		})
	}
}

// The same of the locks that are the system's.
func TestPanicsOfKernelAndNamed(t *testing.T) {
	const abandonedSays = "the last holder ended without releasing the lock: what it protects may be half done"
	for _, at := range []string{"waiting for lock", "acquired lock", "releasing lock", abandonedSays} {
		for _, kind := range []string{"kernel", "named"} {
			if at == abandonedSays && (kind == "kernel" || runtime.GOOS == "windows") {
				continue // nobody is told
			}
			path, place, name := kernelFile(t), newPlace(t), newName()
			locker := func(table *kernelTable, opts ...Option) Locker {
				if kind == "named" {
					return namedLocker{machineAt(place), table, name, AllUsers, newOptions(opts)}
				}
				return kernelOf{table, path, newOptions(opts)}
			}
			var before Lease
			switch at {
			case "waiting for lock":
				before = mustNamed(t, locker(newKernelTable()))
			case abandonedSays:
				c := startNamed(t, namedCommand(place, AllUsers, name))
				require.Contains(t, c.line(), "held ")
				c.kill()
			}
			table := newKernelTable()
			assert.PanicsWithValue(t, at, func() {
				l, err := locker(table, panicAt(at)).Acquire(context.Background())
				if assert.NoError(t, err) {
					_ = l.Release()
				}
			}, kind)
			if before != nil {
				require.NoError(t, before.Release())
			}
			assert.Empty(t, table.queues.queues, "%s %s", kind, at)
			assert.Empty(t, table.held, "%s %s", kind, at)
			for _, table := range []*kernelTable{table, newKernelTable()} {
				l, err := locker(table).TryAcquire(context.Background())
				require.NoError(t, err, "%s %s", kind, at)
				_, told := TakeoverOf(l)
				assert.False(t, told, "%s %s", kind, at)
				require.NoError(t, l.Release())
			}
		}
	}
}

// kernelOf is a kernel lock of a process that has this table.
type kernelOf struct {
	table *kernelTable
	path  string
	opts  options
}

func (k kernelOf) Acquire(ctx context.Context) (Lease, error) {
	l, err := acquireKernel(ctx, osSystem{}, k.table, kernelPath{path: k.path}, k.opts)
	if err != nil {
		return nil, err
	}
	return l, nil
}

func (k kernelOf) TryAcquire(ctx context.Context) (Lease, error) {
	k.opts.wait = 0
	return k.Acquire(ctx)
}
