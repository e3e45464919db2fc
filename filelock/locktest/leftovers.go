package locktest

import (
	"context"
	"os"
	"runtime"
	"time"
)

// nothingIsLeft looks for goroutines and, where the system lists them, descriptors that acquisitions leave behind. What the
// process keeps for all of them is there after the first round.
func nothingIsLeft(t *trial) {
	everyOutcome(t)
	before := openNow()
	const rounds = 5
	for range rounds {
		everyOutcome(t)
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for limit := time.Now().Add(t.patience); ; <-tick.C {
		left := openNow()
		if left.goroutines <= before.goroutines && left.descriptors <= before.descriptors {
			return
		}
		if time.Now().After(limit) {
			if n := left.descriptors - before.descriptors; n > 0 {
				t.Errorf("%d rounds left %d descriptors behind", rounds, n)
			}
			if n := left.goroutines - before.goroutines; n > 0 {
				stacks := make([]byte, 1<<20)
				t.Errorf("%d rounds left %d goroutines behind:\n%s", rounds, n, stacks[:runtime.Stack(stacks, true)])
			}
			return
		}
	}
}

// everyOutcome goes through the ways in which an acquisition can end.
func everyOutcome(t *trial) {
	t.Helper()
	lease := t.hold()
	t.mustBeHeld("held")
	ctx, cancel := context.WithCancel(context.Background())
	cancelled := t.wait(ctx)
	cancel()
	t.await(cancelled.ended, "a cancelled wait")
	waits := t.wait(context.Background())
	t.release(lease)
	t.release(waits.got("a release"))

	other := t.start("hold")
	other.says("held")
	waits = t.wait(context.Background())
	other.kill()
	t.release(waits.got("a killed holder"))
}

type open struct{ goroutines, descriptors int }

func openNow() open {
	list, _ := os.ReadDir("/proc/self/fd")
	return open{runtime.NumGoroutine(), len(list)}
}
