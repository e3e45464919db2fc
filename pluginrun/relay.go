package pluginrun

import (
	"errors"
	"io"
	"sync"
)

// ErrOutputStalled says that a writer of [Output] did not take all that was printed in the two seconds that it has when the
// tree has ended.
var ErrOutputStalled = errors.New("the reader did not take it in time")

// mostRelayed is how much may wait for a writer, and about as much is being written. It is in the order of a pipe's size:
// more would only be more to wait for at the end.
const mostRelayed = 32 << 10

// relay passes one stream on to a writer of the caller's. Too much that the writer has not taken keeps the stream waiting,
// and so in the end the program, until the relay is abandoned.
type relay struct {
	to   io.Writer
	done chan struct{} // closed when nothing will be written any more

	mu      sync.Mutex
	changed sync.Cond
	waiting []byte
	writing bool
	over    bool // nothing more comes, or it is abandoned
	err     error
}

// relayTo starts a relay; nil if there is no writer.
func relayTo(to io.Writer, failed func(error)) *relay {
	if to == nil {
		return nil
	}
	r := &relay{to: to, done: make(chan struct{})}
	r.changed.L = &r.mu
	go func() {
		r.serve(failed)
		close(r.done) // not after a panic: nobody goes on while that ends this process
	}()
	return r
}

func (r *relay) serve(failed func(error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for next := []byte(nil); ; {
		for len(r.waiting) == 0 && !r.over {
			r.changed.Wait()
		}
		if len(r.waiting) == 0 || r.err != nil {
			return
		}
		next, r.waiting, r.writing = r.waiting, next[:0], true
		r.changed.Broadcast()
		err := r.write(next)
		if r.writing = false; err != nil && r.err == nil {
			r.err = err
			r.changed.Broadcast()
			failed(err)
		}
	}
}

// write hands p to the writer, meanwhile unlocked. It is locked again also for a panic, which the unlocking of what is not locked
// would hide.
func (r *relay) write(p []byte) error {
	r.mu.Unlock()
	defer r.mu.Lock()
	_, err := r.to.Write(p)
	return err
}

// put adds p to what waits, as soon as there is room. What comes after a failure or the end is dropped.
func (r *relay) put(p []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.waiting) >= mostRelayed && r.err == nil && !r.over {
		r.changed.Wait()
	}
	if r.err == nil && !r.over {
		r.waiting = append(r.waiting, p...)
	}
	r.changed.Broadcast()
}

// end says that nothing more comes.
func (r *relay) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	r.changed.Broadcast()
}

// abandon ends the relay with what it has, and reports whether the writer had not taken something. A call of the writer that
// does not return goes on, and so does the one goroutine that made it.
func (r *relay) abandon() (stalled bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	stalled = r.err == nil && (r.writing || len(r.waiting) > 0)
	if stalled {
		r.err = ErrOutputStalled
	}
	r.over, r.waiting = true, nil
	r.changed.Broadcast()
	return stalled
}

func (r *relay) failure() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}
