package filelock

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/sys"
	"github.com/holdfast-go/holdfast/internal/testenv"
)

func node(t testing.TB, script string, args ...string) *exec.Cmd {
	t.Helper()
	return exec.Command("node", append([]string{filepath.Join(testenv.Node(t), script)}, args...)...)
}

type counter struct {
	N int `json:"n"`
}

// childCount FILE COUNT: increments the number in FILE that often with pauses of 5 to 20 ms, as counter.mjs does. It prints
// "ack" after each release.
func childCount(args []string) error {
	path := args[0]
	count, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	longest := time.Duration(0)
	for range count {
		began := time.Now()
		err := With(context.Background(), path, func(context.Context, *Lock) error {
			longest = max(longest, time.Since(began))
			return increment(path)
		}, Wait(time.Minute))
		if err != nil {
			return err
		}
		fmt.Println("ack")
		time.Sleep(time.Duration(5+rand.IntN(16)) * time.Millisecond) // the workload
	}
	fmt.Println("done", longest)
	return nil
}

func increment(path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var c counter
	if err := json.Unmarshal(content, &c); err != nil {
		return err
	}
	c.N++
	content, err = json.Marshal(c)
	if err != nil {
		return err
	}
	temp := fmt.Sprintf("%s.%d.tmp", path, os.Getpid())
	if err := os.WriteFile(temp, content, 0o600); err != nil {
		return err
	}
	return os.Rename(temp, path)
}

func readCounter(t *testing.T, path string) int {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	var c counter
	require.NoError(t, json.Unmarshal(content, &c))
	return c.N
}

// acks reads a counting process to its end.
func acks(t *testing.T, c *child) (n int) {
	for {
		line, err := c.out.ReadString('\n')
		if err != nil {
			return n
		}
		if strings.HasPrefix(line, "ack") {
			n++
		}
		if strings.HasPrefix(line, "done") {
			t.Logf("%v: %s", filepath.Base(c.cmd.Path), strings.TrimSpace(line))
		}
	}
}

// inMemory is a protected file's path on a file system in memory where there is one: a disk that stalls for more than the 2 s
// after which the released Node package gives up is not the subject.
func inMemory(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "holdfast")
	if err != nil {
		return target(t)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "settings.json")
}

// Go and the released Node package count in one file: nothing is lost, and Go does not crowd Node out.
func TestCountingWithNode(t *testing.T) {
	t.Parallel()
	testenv.Node(t)
	const each, mayTimeOut = 200, 4 // on a machine that does something else as well
	path := inMemory(t)
	write(t, path, []byte(`{"n":0}`))
	var all []*child
	for range 4 {
		all = append(all, start(t, command("count", path, strconv.Itoa(each))))
		all = append(all, start(t, node(t, "counter.mjs", "--impl", "rc8", "--file", path, "--count", strconv.Itoa(each), "--pause", "5-20",
			"--timeouts", strconv.Itoa(mayTimeOut))))
	}
	var running sync.WaitGroup
	sums := make([]tally, len(all))
	for n, c := range all {
		running.Go(func() { sums[n] = c.tally() })
	}
	running.Wait()
	var sum tally
	for n, s := range sums {
		t.Logf("%v: %d timeouts, longest wait %v", filepath.Base(all[n].cmd.Path), s.timeouts, s.longest)
		assert.Equal(t, each, s.acks+s.timeouts)
		sum.add(s)
	}
	for _, c := range all {
		require.NoError(t, c.cmd.Wait(), "a writer failed")
	}
	assert.Equal(t, sum.acks, readCounter(t, path))
	assert.Equal(t, []string{"settings.json"}, entries(t, path))
}

// The same while Go processes are killed: what was acknowledged is there, and nobody needs a person.
func TestCountingWithKills(t *testing.T) {
	t.Parallel()
	testenv.Node(t)
	path := inMemory(t)
	write(t, path, []byte(`{"n":0}`))
	const forever = 1 << 30
	var mu sync.Mutex
	acked, kills := 0, 0
	deadline := time.Now().Add(whenRequired(time.Minute, 5*time.Second))
	var running sync.WaitGroup
	counting := func(c *child) {
		running.Go(func() {
			n := acks(t, c)
			mu.Lock()
			defer mu.Unlock()
			acked += n
		})
	}
	// The released Node package does not take over: while a killed holder's lock waits for a Go contender, it waits too.
	var stay []*child
	for _, impl := range []string{"rc8", "later"} {
		c := start(t, node(t, "counter.mjs", "--impl", impl, "--file", path, "--count", strconv.Itoa(forever), "--pause", "5-20",
			"--timeouts", strconv.Itoa(forever)))
		stay = append(stay, c)
		counting(c)
	}
	var goes []*child
	for range 4 {
		c := start(t, command("count", path, strconv.Itoa(forever)))
		goes = append(goes, c)
		counting(c)
	}
	tick := time.NewTicker(300 * time.Millisecond)
	defer tick.Stop()
	for time.Now().Before(deadline) {
		<-tick.C
		victim := rand.IntN(len(goes))
		goes[victim].kill()
		kills++
		c := start(t, command("count", path, strconv.Itoa(forever)))
		goes[victim] = c
		counting(c)
	}
	for _, c := range goes {
		c.kill()
		kills++
	}
	// A Node writer must not be ended inside: it might leave an empty lock, which nobody can prove dead.
	l, err := Acquire(context.Background(), path, Wait(time.Minute))
	require.NoError(t, err)
	for _, c := range stay {
		assert.Equal(t, sys.Present, sys.Probe(c.cmd.Process.Pid).Presence, "a Node writer failed")
		c.kill()
		kills++
	}
	require.NoError(t, l.Release())
	running.Wait()
	count := readCounter(t, path)
	t.Logf("%d acknowledged, %d counted, %d kills", acked, count, kills)
	assert.LessOrEqual(t, acked, count)
	assert.LessOrEqual(t, count, acked+kills, "each killed writer may have counted once without saying so")
	for _, e := range entries(t, path) {
		assert.True(t, e == "settings.json" || strings.HasSuffix(e, ".tmp") || strings.Contains(e, ".takeover-"), e)
	}
}

// whenRequired is the real thing where HOLDFAST_REQUIRE asks for it, and what people have patience for elsewhere.
func whenRequired(real, short time.Duration) time.Duration {
	if os.Getenv("HOLDFAST_REQUIRE") != "" {
		return real
	}
	return short
}

// A killed Go holder is taken over by the later protocol of Node, and a killed Node holder by Go.
func TestTakeoverBetweenGoAndNode(t *testing.T) {
	path := target(t)
	holder := start(t, command("hold", path))
	require.Contains(t, holder.line(), "held ")
	holder.kill()
	later := start(t, node(t, "hold.mjs", "--impl", "later", "--file", path, "--wait", "0"))
	require.Equal(t, fmt.Sprintf("held %d", later.cmd.Process.Pid), later.line())
	_, err := try(t, path)
	var held *HeldError
	require.ErrorAs(t, err, &held)
	assert.Equal(t, later.cmd.Process.Pid, held.Holder.PID)
	assert.Contains(t, held.Holder.Command, "hold.mjs")
	later.kill()

	l, err := try(t, path)
	require.NoError(t, err)
	taken, _ := l.Takeover()
	assert.Equal(t, later.cmd.Process.Pid, taken.PID)
	assert.Equal(t, string(noSuchProcess), taken.Proof)

	// and neither takes from the living
	out, err := node(t, "hold.mjs", "--impl", "later", "--file", path, "--wait", "0").CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(out), "timed out")
	require.NoError(t, l.Release())
	assert.Empty(t, entries(t, path))
}

// Lockers that judge by age contend on the same path while we hold, and after a long wait before we held: nobody steals, and
// nobody sees anything but a held lock.
func TestLockersThatJudgeByAge(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Node runs outside")
	}
	for _, waited := range []time.Duration{0, whenRequired(15*time.Second, 3*time.Second)} {
		t.Run(fmt.Sprintf("after waiting %v", waited), func(t *testing.T) {
			t.Parallel()
			testenv.Node(t)
			const held = 10 * time.Second
			path := inMemory(t)
			write(t, path, nil)
			before := start(t, command("hold", path))
			before.line()
			ready := make(chan *Lock)
			go func() {
				l, err := acquire(context.Background(), osSystem{}, newProcess(), path, newOptions([]Option{Wait(time.Minute)}))
				assert.NoError(t, err)
				ready <- l
			}()
			time.Sleep(waited) // the time is the subject: a lock that was prepared early must not look old
			before.end()
			l := <-ready
			stop := busy()
			defer stop()
			var out [2][]byte
			var all sync.WaitGroup
			for n, c := range []struct{ impl, stale string }{{"proper", "2000"}, {"npm", "1000"}} {
				all.Go(func() {
					var err error
					out[n], err = node(t, "contend.mjs", "--impl", c.impl, "--file", path, "--for", fmt.Sprint(held.Milliseconds()), "--stale", c.stale).CombinedOutput()
					assert.NoError(t, err, "%s", out[n])
				})
			}
			all.Wait()
			for _, o := range out {
				var result struct {
					Tries, Got int
					Codes      map[string]int
				}
				require.NoError(t, json.Unmarshal(o, &result), "%s", o)
				t.Logf("%s", o)
				assert.Zero(t, result.Got)
				assert.Greater(t, result.Tries, 20)
				assert.Equal(t, result.Tries, result.Codes["ELOCKED"]+result.Codes["EEXIST"], "%s", o)
			}
			assert.NoError(t, l.Check())
			require.NoError(t, l.Release())
		})
	}
}

// busy keeps all processors at work until stop is called.
func busy() (stop func()) {
	done := make(chan struct{})
	for range runtime.NumCPU() {
		go func() {
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				default:
				}
			}
		}()
	}
	return func() { close(done) }
}
