package locktest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/filelock"
)

// defect is a Locker that keeps all promises but one, and the checks that catch it with what they say.
type defect struct {
	name    string
	by      map[string]string
	acquire func(ctx context.Context, s Setting, try bool) (filelock.Lease, error)
	lease   func(s Setting, l filelock.Lease) filelock.Lease
	linux   bool
}

func (d defect) kind() Kind {
	k := sound
	k.Name = d.name
	k.New = func(s Setting) filelock.Locker { return defective{d, s} }
	return k
}

type defective struct {
	defect
	setting Setting
}

func (d defective) Acquire(ctx context.Context) (filelock.Lease, error)    { return d.get(ctx, false) }
func (d defective) TryAcquire(ctx context.Context) (filelock.Lease, error) { return d.get(ctx, true) }

func (d defective) get(ctx context.Context, try bool) (filelock.Lease, error) {
	acquire := d.acquire
	if acquire == nil {
		acquire = soundly
	}
	l, err := acquire(ctx, d.setting, try)
	if err == nil && d.lease != nil {
		l = d.lease(d.setting, l)
	}
	return l, err
}

func soundly(ctx context.Context, s Setting, try bool) (filelock.Lease, error) {
	if try {
		return sound.New(s).TryAcquire(ctx)
	}
	return sound.New(s).Acquire(ctx)
}

// changed is a lease with other answers; nil: the lease's own.
type changed struct {
	filelock.Lease
	of      string
	done    chan struct{}
	err     func(error) error
	release func() error
	taken   bool
}

func (c *changed) Done() <-chan struct{} {
	if c.done != nil {
		return c.done
	}
	return c.Lease.Done()
}

func (c *changed) Err() error {
	if c.err != nil {
		return c.err(c.Lease.Err())
	}
	return c.Lease.Err()
}

func (c *changed) Release() error {
	if c.release != nil {
		return c.release()
	}
	return c.Lease.Release()
}

func (c *changed) Takeover() (filelock.Takeover, bool) { return filelock.Takeover{}, c.taken }

var broken = []defect{
	{
		name: "leaks a goroutine",
		by:   map[string]string{"nothing is left": "goroutines behind"},
		lease: func(_ Setting, l filelock.Lease) filelock.Lease {
			go func() { select {} }()
			return l
		},
	},
	{
		name:  "leaks a descriptor",
		linux: true,
		by:    map[string]string{"nothing is left": "descriptors behind"},
		lease: func(s Setting, l filelock.Lease) filelock.Lease {
			f, err := os.Open(s.Dir)
			leaked.Store(f, err)
			return l
		},
	},
	{
		name: "everybody gets it",
		by: map[string]string{
			"one holder":                    "got a lock that should be held",
			"goroutines exclude each other": "inside at once",
			"processes exclude each other":  "",
		},
		acquire: func(ctx context.Context, s Setting, _ bool) (filelock.Lease, error) {
			s.Name += strconv.Itoa(int(serial.Add(1))) + "of" + strconv.Itoa(os.Getpid())
			return soundly(ctx, s, false)
		},
	},
	{
		name: "each process has its own",
		by:   map[string]string{"one holder": "held by another process: TryAcquire got", "processes exclude each other": ""},
		acquire: func(ctx context.Context, s Setting, try bool) (filelock.Lease, error) {
			s.Name += strconv.Itoa(os.Getpid())
			return soundly(ctx, s, try)
		},
	},
	{
		name:    "goroutines share one",
		by:      map[string]string{"one holder": "held in this process", "goroutines exclude each other": "inside at once"},
		acquire: shared.acquire,
	},
	{
		name: "a dropped lease is collected",
		by:   map[string]string{"a dropped lease is held": "dropped by a process that lives"},
		lease: func(_ Setting, l filelock.Lease) filelock.Lease {
			c := &changed{Lease: l}
			runtime.AddCleanup(c, func(l filelock.Lease) { l.Release() }, l)
			return c
		},
	},
	{
		name: "one for all names",
		by:   map[string]string{"two names are two locks": "another name"},
		acquire: func(ctx context.Context, s Setting, try bool) (filelock.Lease, error) {
			s.Name = "all"
			return soundly(ctx, s, try)
		},
	},
	{
		name: "one try waits",
		by:   map[string]string{"one try": "TryAcquire: nothing within"},
		acquire: func(ctx context.Context, s Setting, _ bool) (filelock.Lease, error) {
			return soundly(ctx, s, false)
		},
	},
	{
		name:    "held is not unavailable",
		by:      map[string]string{"one try": "does not match ErrUnavailable", "a wait ends": "does not match ErrUnavailable"},
		acquire: instead(filelock.ErrHeld, func(error) error { return filelock.ErrHeld }),
	},
	{
		name:    "held is something else",
		by:      map[string]string{"one try": "does not match ErrHeld", "a wait ends": "does not match ErrHeld"},
		acquire: instead(filelock.ErrHeld, func(error) error { return filelock.ErrUnavailable }),
	},
	{
		name: "waits for ever",
		by:   map[string]string{"a wait ends": "the end of a wait of 50 ms", "one try": "Acquire without a wait"},
		acquire: func(ctx context.Context, s Setting, try bool) (filelock.Lease, error) {
			s.Wait = filelock.Forever
			return soundly(ctx, s, try)
		},
	},
	{
		name: "forgets to wake",
		by: map[string]string{
			"a release lets a waiter in": "a release in this process: nothing within",
			"a killed holder":            "a holder that was waited for: nothing within",
		},
		acquire: func(ctx context.Context, s Setting, try bool) (filelock.Lease, error) {
			l, err := soundly(ctx, s, true)
			if err == nil || try {
				return l, err
			}
			s.OnWait()
			<-ctx.Done()
			return nil, context.Cause(ctx)
		},
	},
	{
		name:    "last come, first served",
		by:      map[string]string{"first come first served": "the first of those who wait: nothing within"},
		acquire: stack.acquire,
	},
	{
		name: "the context is ignored",
		by:   map[string]string{"a cancelled wait": "nothing within", "an ended context": "does not match the context's error"},
		acquire: func(ctx context.Context, s Setting, try bool) (filelock.Lease, error) {
			return soundly(context.WithoutCancel(ctx), s, try)
		},
	},
	{
		name:    "the cause is not told",
		by:      map[string]string{"a cancelled wait": "and its cause", "an ended context": "and its cause"},
		acquire: instead(context.Canceled, func(error) error { return context.Canceled }),
	},
	{
		name: "the context's end is unavailable",
		by:   map[string]string{"a cancelled wait": "matches ErrUnavailable", "an ended context": "matches ErrUnavailable"},
		acquire: instead(context.Canceled, func(err error) error {
			return errors.Join(err, filelock.ErrUnavailable)
		}),
	},
	{
		name: "goes on waiting after a cancel",
		by:   map[string]string{"a cancelled wait": "nobody waits any more"},
		acquire: func(ctx context.Context, s Setting, try bool) (filelock.Lease, error) {
			if try {
				return soundly(ctx, s, true)
			}
			type result struct {
				lease filelock.Lease
				err   error
			}
			got := make(chan result, 1)
			go func() {
				l, err := soundly(context.WithoutCancel(ctx), s, false)
				got <- result{l, err}
			}()
			select {
			case r := <-got:
				return r.lease, r.err
			case <-ctx.Done():
				return nil, errors.Join(ctx.Err(), context.Cause(ctx))
			}
		},
	},
	{
		name: "a cancelled wait leaves a file",
		by:   map[string]string{"a cancelled wait": "a cancelled wait left"},
		acquire: instead(context.Canceled, func(err error) error {
			return err
		}, func(s Setting) { os.WriteFile(filepath.Join(s.Dir, "waiting"), nil, 0o600) }),
	},
	{
		name: "Done stays open",
		by:   map[string]string{"the end is told": "Done after Release", "a loss is told": "Done after a loss"},
		lease: func(_ Setting, l filelock.Lease) filelock.Lease {
			return &changed{Lease: l, done: make(chan struct{})}
		},
	},
	{
		name: "Err tells nothing",
		by:   map[string]string{"the end is told": "does not match ErrReleased", "a loss is told": "Err after a loss"},
		lease: func(_ Setting, l filelock.Lease) filelock.Lease {
			return &changed{Lease: l, err: func(error) error { return nil }}
		},
	},
	{
		name: "only the goroutine that has it may release it",
		by:   map[string]string{"released from another goroutine": "Release in another goroutine: not yours"},
		lease: func(_ Setting, l filelock.Lease) filelock.Lease {
			owner := goroutine()
			return &changed{Lease: l, release: func() error {
				if goroutine() != owner {
					return errors.New("not yours")
				}
				return l.Release()
			}}
		},
	},
	{
		name: "a second release is an error",
		by:   map[string]string{"released twice": "Release: lock released"},
		lease: func(_ Setting, l filelock.Lease) filelock.Lease {
			return &changed{Lease: l, release: func() error {
				if err := l.Err(); err != nil {
					return err
				}
				return l.Release()
			}}
		},
	},
	{
		name:  "releases whoever has it",
		by:    map[string]string{"released twice": "by somebody else than who releases again", "a loser touches nothing": "by the loser's successor"},
		lease: newest.wrap,
	},
	{
		name: "two releases at once collide",
		by:   map[string]string{"released twice at once": "Release, twice at once: busy"},
		lease: func(_ Setting, l filelock.Lease) filelock.Lease {
			var calls atomic.Int32
			return &changed{Lease: l, release: func() error {
				if calls.Add(1) > 1 && l.Err() == nil {
					return errors.New("busy")
				}
				for limit := time.Now().Add(time.Second / 10); calls.Load() == 1 && time.Now().Before(limit); {
					runtime.Gosched()
				}
				for limit := time.Now().Add(time.Millisecond); time.Now().Before(limit); {
					runtime.Gosched()
				}
				return l.Release()
			}}
		},
	},
	{
		name: "no recovery from a killed holder",
		by:   map[string]string{"a killed holder": "a holder that was waited for: nothing within"},
		acquire: func(ctx context.Context, s Setting, try bool) (filelock.Lease, error) {
			l := filelock.Record(lockedFile(s), append(s.Options(), filelock.NoTakeover())...)
			if try {
				return l.TryAcquire(ctx)
			}
			return l.Acquire(ctx)
		},
	},
	{
		name:  "the successor is not told",
		by:    map[string]string{"a killed holder": "is told: false"},
		lease: func(_ Setting, l filelock.Lease) filelock.Lease { return &changed{Lease: l} },
	},
	{
		name: "only who waited is told",
		by:   map[string]string{"a killed holder": "is told: false"},
		acquire: func(ctx context.Context, s Setting, try bool) (filelock.Lease, error) {
			waited := false
			s.OnWait = chain(s.OnWait, func() { waited = true })
			l, err := soundly(ctx, s, try)
			if err != nil || waited {
				return l, err
			}
			return &changed{Lease: l}, nil
		},
	},
	{
		name:  "everybody is told",
		by:    map[string]string{"a killed holder": "a holder that released is told of a takeover"},
		lease: func(_ Setting, l filelock.Lease) filelock.Lease { return &changed{Lease: l, taken: true} },
	},
	{
		name: "a lost lock is released without a word",
		by:   map[string]string{"a loss is told": "Release after a loss", "a loss ends Do": "whose function returned <nil>: <nil>"},
		lease: func(_ Setting, l filelock.Lease) filelock.Lease {
			return &changed{Lease: l, release: func() error {
				l.Release()
				return nil
			}}
		},
	},
	{
		name: "a loss is told as something else",
		by:   map[string]string{"a loss is told": "does not match ErrLost", "a loss ends Do": "cause after a loss"},
		lease: func(_ Setting, l filelock.Lease) filelock.Lease {
			return &changed{Lease: l, err: func(err error) error {
				if errors.Is(err, filelock.ErrLost) {
					return errors.New("gone")
				}
				return err
			}}
		},
	},
	{
		name: "a release that fails",
		by:   map[string]string{"Do returns what its function returns": "whose function returned <nil>: no"},
		lease: func(_ Setting, l filelock.Lease) filelock.Lease {
			return &changed{Lease: l, release: func() error { return errors.Join(l.Release(), errors.New("no")) }}
		},
	},
	{
		name: "a panic keeps it",
		by:   map[string]string{"a panic releases": "the function has panicked"},
		lease: func(_ Setting, l filelock.Lease) filelock.Lease {
			return &changed{Lease: l, release: func() error {
				stack := make([]byte, 1<<16)
				if strings.Contains(string(stack[:runtime.Stack(stack, false)]), "\npanic(") {
					return nil
				}
				return l.Release()
			}}
		},
	},
	{
		name:  "a nested acquisition waits",
		by:    map[string]string{"a nested acquisition": "a nested acquisition: nothing within"},
		lease: func(_ Setting, l filelock.Lease) filelock.Lease { return &changed{Lease: l} },
	},
}

var (
	serial atomic.Int32
	leaked sync.Map
)

// instead changes the errors that match.
func instead(match error, change func(error) error, also ...func(Setting)) func(context.Context, Setting, bool) (filelock.Lease, error) {
	return func(ctx context.Context, s Setting, try bool) (filelock.Lease, error) {
		l, err := soundly(ctx, s, try)
		if errors.Is(err, match) {
			for _, f := range also {
				f(s)
			}
			return nil, change(err)
		}
		return l, err
	}
}

// chain calls those that are not nil.
func chain(fs ...func()) func() {
	return func() {
		for _, f := range fs {
			if f != nil {
				f()
			}
		}
	}
}

// goroutine is what the runtime calls the calling goroutine.
func goroutine() string {
	stack := make([]byte, 64)
	name, _, _ := strings.Cut(string(stack[:runtime.Stack(stack, false)]), "[")
	return name
}

// sharing has the goroutines of a process hold one lease among them.
type sharing struct {
	mu    sync.Mutex
	users int
	lease filelock.Lease
}

var shared sharing

func (h *sharing) acquire(ctx context.Context, s Setting, try bool) (filelock.Lease, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.users == 0 {
		l, err := soundly(ctx, s, try)
		if err != nil {
			return nil, err
		}
		h.lease = l
	}
	h.users++
	return &changed{Lease: h.lease, release: func() error {
		runtime.Gosched()
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.users--; h.users > 0 {
			return nil
		}
		return h.lease.Release()
	}}, nil
}

// stacked lets in whoever came last.
type stacked struct {
	mu    sync.Mutex
	held  bool
	turns []chan struct{}
}

var stack stacked

func (k *stacked) acquire(ctx context.Context, s Setting, try bool) (filelock.Lease, error) {
	k.mu.Lock()
	if k.held {
		turn := make(chan struct{})
		k.turns = append(k.turns, turn)
		k.mu.Unlock()
		s.OnWait()
		<-turn
	} else {
		k.held = true
		k.mu.Unlock()
	}
	s.Wait = 0
	l, err := soundly(ctx, s, try)
	if err != nil {
		return nil, err
	}
	return &changed{Lease: l, release: sync.OnceValue(func() error {
		err := l.Release()
		k.mu.Lock()
		defer k.mu.Unlock()
		if n := len(k.turns); n > 0 {
			close(k.turns[n-1])
			k.turns = k.turns[:n-1]
		} else {
			k.held = false
		}
		return err
	})}, nil
}

// latest has every release end the newest lease of a lock.
type latest struct {
	mu    sync.Mutex
	lease filelock.Lease
}

var newest latest

func (n *latest) wrap(_ Setting, l filelock.Lease) filelock.Lease {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lease = l
	return &changed{Lease: l, release: func() error {
		n.mu.Lock()
		defer n.mu.Unlock()
		return n.lease.Release()
	}}
}
