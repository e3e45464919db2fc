package atomicwrite

import (
	"time"

	"github.com/holdfast-go/holdfast/internal/sys"
)

// The cadence of the Node library: 20 ms, doubling to 200 ms, 8 pauses, 1.1 s in all.
const (
	firstPause   = 20 * time.Millisecond
	longestPause = 200 * time.Millisecond
	pauses       = 8
)

func pauseBefore(retry int) time.Duration { return min(firstPause<<retry, longestPause) }

// persist does what may be refused because somebody has the file open at this moment, until it is done, fails for another
// reason or was refused at the end of the cadence. Where refusals do not pass it tries once.
func persist(s system, do func() error) error {
	err := do()
	for n := 0; n < pauses && s.refusalsPass() && telling(err) > 0; n++ {
		s.pause(pauseBefore(n))
		next := do()
		if telling(next) == 0 {
			return next
		}
		if telling(next) >= telling(err) {
			err = next
		}
	}
	return err
}

// telling ranks refusals by how much they tell: somebody has the file open, or just no. 0 is not a refusal.
func telling(err error) int {
	switch sys.KindOf(err) {
	case sys.InUse, sys.WouldBlock:
		return 3
	case sys.Busy:
		return 2
	case sys.NotPermitted:
		return 1
	}
	return 0
}
