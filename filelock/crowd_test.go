package filelock

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testenv"
)

func init() { children["crowd"] = childCrowd }

// A crowd is Go and Node writers that count in one file until each Node writer has had its share.
type crowd struct {
	processes  int // of Go
	goroutines int // in each
	pause      bool
	eager      bool
	nodes      int
}

const (
	crowdHold  = 5 * time.Millisecond
	crowdShare = 60

	// mostTimeouts is how many in a hundred of Node's acquisitions may give up on a machine that does something else as well.
	// On one that does not, none does; without courtesy it is more than half of them.
	mostTimeouts = 5
	// longestCrowdWait is far above what a Go writer waits, for machines that do something else as well.
	longestCrowdWait = 5 * time.Second
)

// crowdPause are 5 to 20 ms.
func crowdPause() time.Duration { return time.Duration(5+rand.IntN(16)) * time.Millisecond }

// tally is what became of a crowd.
type tally struct {
	acks, timeouts int
	longest        time.Duration
}

func (s *tally) add(o tally) {
	s.acks += o.acks
	s.timeouts += o.timeouts
	s.longest = max(s.longest, o.longest)
}

// childCrowd FILE GOROUTINES PAUSE EAGER: counts in FILE until its input ends.
func childCrowd(args []string) error {
	goroutines, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	pause, opts := args[2] == "true", []Option{Wait(time.Minute)}
	if args[3] == "true" {
		opts = append(opts, Eager())
	}
	ended := make(chan struct{})
	go func() {
		io.Copy(io.Discard, os.Stdin)
		close(ended)
	}()
	longest := make([]time.Duration, goroutines)
	failed := make([]error, goroutines)
	var all sync.WaitGroup
	for n := range goroutines {
		all.Go(func() {
			for {
				select {
				case <-ended:
					return
				default:
				}
				began := time.Now()
				failed[n] = With(context.Background(), args[0], func(context.Context, *Lock) error {
					longest[n] = max(longest[n], time.Since(began))
					return incrementSlowly(args[0])
				}, opts...)
				if failed[n] != nil {
					return
				}
				fmt.Println("ack")
				if pause {
					time.Sleep(crowdPause()) // the workload
				}
			}
		})
	}
	all.Wait()
	for n := range goroutines {
		if failed[n] != nil {
			return failed[n]
		}
		fmt.Println("done", longest[n])
	}
	return nil
}

// incrementSlowly does its work between reading and writing, as counter.mjs does.
func incrementSlowly(path string) error {
	before, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	time.Sleep(crowdHold) // the work
	now, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !bytes.Equal(now, before) {
		return fmt.Errorf("%s became %s under the lock", before, now)
	}
	return increment(path)
}

// run returns what became of the Go writers, of the Node writers, and how long it took.
func (c crowd) run(t testing.TB) (goes, nodes tally, took time.Duration) {
	t.Helper()
	path := inMemory(t)
	write(t, path, []byte(`{"n":0}`))
	began := time.Now()
	var mu sync.Mutex
	var all, sharing sync.WaitGroup
	follow := func(who *child, sum *tally, until *sync.WaitGroup) {
		until.Go(func() {
			o := who.tally()
			mu.Lock()
			defer mu.Unlock()
			sum.add(o)
		})
	}
	var writers, peers []*child
	for range c.processes {
		w := start(t, command("crowd", path, strconv.Itoa(c.goroutines), strconv.FormatBool(c.pause), strconv.FormatBool(c.eager)))
		writers = append(writers, w)
		follow(w, &goes, &all)
	}
	for range c.nodes {
		w := start(t, node(t, "counter.mjs", "--impl", "rc8", "--file", path, "--count", strconv.Itoa(crowdShare), "--pause", "5-20",
			"--hold", strconv.FormatInt(crowdHold.Milliseconds(), 10), "--timeouts", strconv.Itoa(crowdShare)))
		peers = append(peers, w)
		follow(w, &nodes, &sharing)
	}
	sharing.Wait()
	took = time.Since(began)
	for _, w := range writers {
		w.in.Close()
	}
	all.Wait()
	for _, w := range append(writers, peers...) {
		assert.NoError(t, w.cmd.Wait(), "a writer failed")
	}
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	var n counter
	require.NoError(t, json.Unmarshal(content, &n))
	assert.Equal(t, goes.acks+nodes.acks, n.N)
	assert.Equal(t, []string{"settings.json"}, entries(t, path))
	return goes, nodes, took
}

// tally reads what a writer says to its end.
func (c *child) tally() (o tally) {
	for {
		line, err := c.out.ReadString('\n')
		if err != nil {
			return o
		}
		switch words := strings.Fields(line); words[0] {
		case "ack":
			o.acks++
		case "timeout":
			o.timeouts++
		case "done":
			wait := words[len(words)-1]
			if len(words) == 3 { // Node: milliseconds
				wait += "ms"
			}
			d, err := time.ParseDuration(wait)
			assert.NoError(c.t, err)
			o.longest = max(o.longest, d)
		}
	}
}

// Crowds of Go writers leave gaps that Node writers find, which look each 200 ms and give up after 2 s.
func TestCrowdWithNode(t *testing.T) {
	for name, c := range map[string]crowd{
		"processes":                  {processes: 6, goroutines: 1, pause: true, nodes: 4},
		"goroutines without a pause": {processes: 1, goroutines: 8, nodes: 2},
	} {
		t.Run(name, func(t *testing.T) {
			testenv.Node(t)
			runs := 1
			if testenv.Required("node") {
				runs = 3
			}
			for range runs {
				goes, nodes, took := c.run(t)
				t.Logf("Go: %.0f locks a second, longest wait %v; Node: %.0f a second, longest wait %v, %d timeouts",
					float64(goes.acks)/took.Seconds(), goes.longest, float64(nodes.acks)/took.Seconds(), nodes.longest, nodes.timeouts)
				assert.LessOrEqual(t, nodes.timeouts*100, mostTimeouts*c.nodes*crowdShare)
				assert.Equal(t, c.nodes*crowdShare, nodes.acks+nodes.timeouts)
				assert.NotZero(t, goes.acks)
				assert.Less(t, goes.longest, longestCrowdWait)
			}
		})
	}
}

// What courtesy costs Go writers and saves Node writers.
func BenchmarkCrowd(b *testing.B) {
	for name, c := range map[string]crowd{
		"courteous": {processes: 6, goroutines: 1, pause: true, nodes: 4},
		"eager":     {processes: 6, goroutines: 1, pause: true, nodes: 4, eager: true},
	} {
		b.Run(name, func(b *testing.B) {
			testenv.Node(b)
			var goes, nodes tally
			var took time.Duration
			for range b.N {
				g, n, d := c.run(b)
				goes.add(g)
				nodes.add(n)
				took += d
			}
			b.ReportMetric(float64(goes.acks)/took.Seconds(), "go-locks/s")
			b.ReportMetric(float64(nodes.acks)/took.Seconds(), "node-locks/s")
			b.ReportMetric(goes.longest.Seconds()*1000, "go-longest-ms")
			b.ReportMetric(nodes.longest.Seconds()*1000, "node-longest-ms")
			b.ReportMetric(float64(nodes.timeouts)/float64(b.N), "node-timeouts/crowd")
			b.ReportMetric(0, "ns/op")
		})
	}
}
