package filelock

import (
	"math"
	"time"
)

// Forever as a wait means that only the context ends it.
const Forever = time.Duration(math.MaxInt64)

// DefaultWait is how long an acquisition waits when no [Wait] is given: the Node library's own default.
const DefaultWait = 2 * time.Second

// The Node library's cadence: the first pause, doubling up to the longest one.
const (
	firstPause   = 20 * time.Millisecond
	longestPause = 200 * time.Millisecond
)

// maxFree is how often in a row a lock may look free and be lost to another before that counts as contention.
const maxFree = 3

// sayAfter is how long a wait goes on before it is logged, once.
const sayAfter = 3 * time.Second

// cadence yields the pauses of one acquisition.
type cadence struct{ last time.Duration }

func (c *cadence) next() time.Duration {
	if c.last == 0 {
		c.last = firstPause
	} else {
		c.last = min(2*c.last, longestPause)
	}
	return c.last
}
