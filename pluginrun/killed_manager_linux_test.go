package pluginrun

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testenv"
)

// killed is one round: an install whose script ticks, our process killed over it.
type killed struct {
	manager
	ticker
	alone  bool // nothing but the script is left, else all but our process
	script int  // its process number
	run    recordedRun
	record string // its bytes
}

// A process of ours is killed over an install with a lifecycle script that goes on; the next program never begins while
// that writes, and finds everything restored.
func TestInstallOfAKilledManager(t *testing.T) {
	eachManager(t, func(t *testing.T, m manager) {
		outcomes := map[string]int{}
		for n := range patience(50, 5) {
			wait := 500 * time.Millisecond
			if n%10 == 3 {
				wait = DefaultLeftoverWait
			}
			k := m.kill(n%2 == 1)
			own, err := syscall.Getpgid(k.script)
			require.NoError(t, err)
			if own == int(k.run.pid) {
				outcomes["scripts in the recorded group"]++
			} else {
				outcomes["scripts in a group of their own"]++
			}
			if n/2%2 == 0 {
				k.refused(wait)
				outcomes["refused"]++
				k.stop(t)
				k.begins(k.next(longest / 2).done())
			} else if k.ends(wait) {
				outcomes["went on"]++
			} else {
				outcomes["refused while it wound up"]++
			}
			nothingLeft(t, k.dir)
			require.Empty(t, m.processes())
			if t.Failed() {
				t.Fatalf("in round %d", n)
			}
		}
		t.Log(outcomes)
		if m.name == "pnpm12" {
			assert.Zero(t, outcomes["scripts in the recorded group"], "nothing tests scripts in groups of their own any more")
		}
	})
}

// patience is the real number of rounds where HOLDFAST_REQUIRE asks for pnpm, else what people have patience for.
func patience(real, short int) int {
	if testenv.Required("pnpm") {
		return real
	}
	return short
}

func (m manager) kill(alone bool) *killed {
	m.t.Helper()
	k := &killed{manager: m, ticker: ticker{m.profile("exec " + m.ticker() + "\n")}, alone: alone}
	c := m.order(order{Dir: k.dir, Args: []string{"install"}})
	k.run.grouped = true
	c.hears("started", &k.run.pid)
	k.script = k.pid(m.t)
	time.Sleep(rand.N(100 * time.Millisecond)) // the moment is the subject
	c.kill()
	k.record = read(m.t, k.recordPath())
	require.Equal(m.t, fmt.Sprintf("{\"pid\":%d,\"grouped\":true}\n", k.run.pid), k.record)
	if alone {
		k.killAllBut(k.script)
	}
	require.True(m.t, k.goesOn(), "the script did not outlive our process")
	return k
}

// killAllBut kills children before their parents: one of pnpm's would end the script when pnpm is gone.
func (k *killed) killAllBut(script int) {
	k.t.Helper()
	all := k.processes()
	slices.Sort(all)
	for _, pid := range slices.Backward(all) {
		if pid != script {
			syscall.Kill(pid, syscall.SIGKILL) // it may have ended with its children
		}
	}
	require.Eventually(k.t, func() bool { return slices.Equal([]int{script}, k.processes()) }, longest, time.Millisecond)
}

func (k *killed) recordPath() string { return filepath.Join(k.dir, ownDir, recordName) }

// next is another process of ours with another program.
func (k *killed) next(wait time.Duration) *ordered {
	k.t.Helper()
	script := fmt.Sprintf("exec env %s=alone '%s' %s", childEnv, os.Args[0], k.spoiled())
	return k.order(order{Dir: k.dir, Program: "sh", Args: []string{"-c", script}, LeftoverWait: wait})
}

// refused demands that the next program does not begin as long as the script goes on.
func (k *killed) refused(wait time.Duration) {
	k.t.Helper()
	r := k.next(wait).done()
	require.True(k.t, k.goesOn())
	require.Nil(k.t, r.Result)
	require.NotNil(k.t, r.Active, r.Error)
	assert.GreaterOrEqual(k.t, r.Active.Waited, wait)
	assert.Less(k.t, r.Took, wait+longest/2)
	assert.Equal(k.t, k.recordPath(), r.Active.Record)
	assert.Contains(k.t, r.Error, k.recordPath())
	var pids []int
	for _, p := range r.Active.Processes {
		pids = append(pids, p.PID)
		assert.NoError(k.t, syscall.Kill(p.PID, 0), "%v", p)
	}
	assert.Contains(k.t, pids, k.script)
	assert.Contains(k.t, r.Error, "PID "+strconv.Itoa(pids[0]))
	if k.alone {
		assert.Equal(k.t, []int{k.script}, pids)
	}
	assert.Equal(k.t, k.record, read(k.t, k.recordPath()))
	assert.FileExists(k.t, filepath.Join(k.dir, k.spoiled()), "restored under a script that writes still")
}

// ends lets the script end once the next process waits for it, and reports whether that went on then. It may be refused
// only if half a second is too short for what ran the script to wind up.
func (k *killed) ends(wait time.Duration) bool {
	k.t.Helper()
	c := k.next(wait)
	var waits ActiveError
	c.hears("waiting", &waits)
	assert.Equal(k.t, k.recordPath(), waits.Record)
	k.stop(k.t)
	r := c.done()
	if r.Active == nil || wait == DefaultLeftoverWait {
		k.begins(r)
		return true
	}
	k.begins(k.next(longest / 2).done())
	return false
}

func (k *killed) begins(r report) {
	k.t.Helper()
	r.succeeded(k.t)
	assert.Equal(k.t, "alone\n", string(r.Result.Tail))
	require.NotNil(k.t, r.Result.Leftover)
	assert.Equal(k.t, k.run, recordedRun{r.Result.Leftover.PID, r.Result.Leftover.Grouped})
	assert.NoFileExists(k.t, filepath.Join(k.dir, k.spoiled()))
}
