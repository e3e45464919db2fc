package pluginrun

import (
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// output is where a captured run's two streams go: the log on disk, the tail in memory, the caller's writers.
type output struct {
	path string
	log  io.WriteCloser // nil for an attached run

	mu      sync.Mutex
	tail    tail
	logErr  error
	started time.Time
	last    atomic.Int64 // when something was printed last, in nanoseconds after started
	busy    atomic.Int32 // streams with something printed that is still to be kept or passed on
	relays  []*relay
	read    chan struct{} // closed when both streams have ended
	done    chan struct{} // closed when they have, and were passed on
	given   chan struct{} // closed when passing on is given up
}

// logTime begins the names of logs, in UTC; they sort by it.
const logTime = "20060102T150405.000Z"

// openLog makes the log of a captured run, and removes the oldest of those that are too many.
func (op *operation) openLog(random string) (*output, error) {
	o := &output{
		read: make(chan struct{}), done: make(chan struct{}), given: make(chan struct{}), tail: tail{size: op.opts.tail},
	}
	if op.opts.attached {
		close(o.read)
		close(o.done)
		return o, nil
	}
	if err := op.sys.makeDir(op.place.logs(), 0o700); err != nil {
		return nil, &Error{"make a directory", op.place.logs(), err}
	}
	op.removeOldLogs()
	o.path = op.place.log(op.sys.now().UTC().Format(logTime) + "-" + random + ".log")
	var err error
	if o.log, err = op.sys.createLog(o.path); err != nil {
		return nil, &Error{"make the log", o.path, err}
	}
	return o, nil
}

func (op *operation) removeOldLogs() {
	names, err := op.sys.list(op.place.logs())
	if err != nil {
		return
	}
	names = slices.DeleteFunc(names, func(n string) bool {
		at, _, found := strings.Cut(n, "-")
		_, err := time.Parse(logTime, at)
		return !found || err != nil || !strings.HasSuffix(n, ".log")
	})
	slices.Sort(names)
	for len(names) >= mostLogs {
		if err := op.sys.remove(op.place.log(names[0]), false); err != nil {
			op.log.Warn("an old log could not be removed", "path", op.place.log(names[0]), "err", err)
		}
		names = names[1:]
	}
}

// follow copies both streams until they end.
func (o *output) follow(op *operation) {
	if o.log == nil {
		return
	}
	o.started = op.sys.now()
	stdout, stderr := op.child.output()
	failed := func(err error) { op.log.Info("output cannot be passed on any more", "err", err) }
	var both sync.WaitGroup
	follow := func(from io.Reader, to io.Writer) {
		r := relayTo(to, failed)
		if r != nil {
			o.relays = append(o.relays, r)
		}
		both.Go(func() { o.copy(op, from, r) })
	}
	follow(stdout, op.opts.stdout)
	follow(stderr, op.opts.stderr)
	go func() {
		both.Wait()
		close(o.read)
		for _, r := range o.relays {
			select {
			case <-r.done:
			case <-o.given:
				return
			}
		}
		close(o.done)
	}()
}

// copy keeps what is printed and hands it to the relay. A program that the relay keeps waiting is not silent.
func (o *output) copy(op *operation, from io.Reader, to *relay) {
	buf := make([]byte, mostRelayed)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			o.busy.Add(1)
			o.keep(op, buf[:n])
			if to != nil {
				to.put(buf[:n])
			}
			o.last.Store(int64(op.sys.now().Sub(o.started)))
			o.busy.Add(-1)
		}
		if err != nil {
			break
		}
	}
	if to != nil {
		to.end()
	}
}

// abandon gives up to pass on what was not taken yet, and reports whether there is any.
func (o *output) abandon() (stalled bool) {
	close(o.given)
	for _, r := range o.relays {
		stalled = r.abandon() || stalled
	}
	return stalled
}

// failure is why not all was passed on; nil if it was.
func (o *output) failure() error {
	for _, r := range o.relays {
		if err := r.failure(); err != nil {
			return err
		}
	}
	return nil
}

// keep writes to log and tail. A log that fails, as on a full disk, gets nothing more; the run goes on.
func (o *output) keep(op *operation, p []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.tail.add(p)
	if o.logErr == nil {
		if _, o.logErr = o.log.Write(p); o.logErr != nil {
			op.log.Warn("output cannot be logged any more", "path", o.path, "err", o.logErr)
		}
	}
}

// quiet is how long nothing was printed.
func (o *output) quiet(now time.Time) time.Duration {
	if o.busy.Load() > 0 {
		return 0
	}
	return now.Sub(o.started) - time.Duration(o.last.Load())
}

// end closes the log of streams that have ended, and returns the tail.
func (o *output) end() (last []byte, cut bool) {
	if o.log == nil {
		return nil, false
	}
	o.log.Close()
	return o.tail.last(), o.tail.cut
}

// discard removes the log of a program that did not begin.
func (o *output) discard(op *operation) {
	if o.log == nil {
		return
	}
	o.log.Close()
	if err := op.sys.remove(o.path, false); err != nil {
		op.log.Warn("an empty log could not be removed", "path", o.path, "err", err)
	}
}

// tail keeps the last bytes that were added.
type tail struct {
	size int
	buf  []byte
	cut  bool
}

func (t *tail) add(p []byte) {
	if len(p) > t.size {
		p, t.cut = p[len(p)-t.size:], true
	}
	// Twice the size is kept, so that the older half is seldom moved away.
	if len(t.buf)+len(p) > 2*t.size {
		t.buf = append(t.buf[:0], t.last()...)
	}
	t.buf = append(t.buf, p...)
	t.cut = t.cut || len(t.buf) > t.size
}

func (t *tail) last() []byte { return t.buf[max(0, len(t.buf)-t.size):] }
