package pluginrun

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testenv"
)

// scarce is the real machine, on which this process has so few descriptors left while it looks at processes, so many times.
type scarce struct {
	osSystem
	t     testing.TB
	left  int
	looks *int
}

func (s scarce) short() (enough func()) {
	if *s.looks == 0 {
		return func() {}
	}
	*s.looks--
	return testenv.Shortage(s.t, s.left)
}

func (s scarce) marked(mark string) ([]Process, error) {
	defer s.short()()
	return s.osSystem.marked(mark)
}

func (s scarce) start(what start) (process, error) {
	p, err := s.osSystem.start(what)
	if err != nil {
		return nil, err
	}
	return scarceProcess{p, s}, nil
}

type scarceProcess struct {
	process
	scarce
}

func (p scarceProcess) members() ([]Process, error) {
	defer p.short()()
	return p.process.members()
}

func (p scarceProcess) terminate() bool {
	defer p.short()()
	return p.process.terminate()
}

func (p scarceProcess) kill() {
	defer p.short()()
	p.process.kill()
}

// A run that is cancelled while there are no descriptors is ended then, not when it likes.
func TestCancelledInShortage(t *testing.T) {
	for name, script := range map[string]string{
		"the program":      "echo changed >package.json; echo ready; sleep 20; echo late >>package.json",
		"what it has left": "setsid sh -c 'sleep 20; echo late >>package.json' >/dev/null 2>&1 & echo changed >package.json; echo ready; wait",
	} {
		for left := range 2 {
			t.Run(fmt.Sprintf("%s, %d left", name, left), func(t *testing.T) {
				dir := profile(t)
				ctx, cancel := context.WithCancel(context.Background())
				looks := 0
				r, err := run(ctx, scarce{t: t, left: left, looks: &looks}, newActive(), dir, newOptions([]Option{
					Program("sh"), KillAfter(longest), Output(when("ready", func() { looks = 5; cancel() }), nil),
				}), []string{"-c", script})
				require.ErrorAs(t, err, new(*CancelledError))
				assert.Equal(t, "SIGTERM", r.Signal)
				assert.Equal(t, "{}\n", read(t, filepath.Join(dir, manifest)))
				noneOf(t, dir)
				settled(t, dir)
			})
		}
	}
}

// While nobody can tell what runs, no run begins.
func TestNoRunBeginsInShortage(t *testing.T) {
	dir := profile(t)
	for _, recorded := range []bool{false, true} {
		if recorded {
			recordOf(t, dir, 1<<22+1, true) // more than any process number
		}
		looks := 1
		_, err := run(context.Background(), scarce{t: t, looks: &looks}, newActive(), dir,
			newOptions([]Option{Program("sh"), LeftoverWait(0)}), []string{"-c", "touch ran"})
		var active *ActiveError
		require.ErrorAs(t, err, &active)
		assert.Empty(t, active.Processes)
		assert.Equal(t, noAnswer, active.Why)
		assert.Equal(t, !recorded, active.Unseen())
		assert.NoFileExists(t, filepath.Join(dir, "ran"))
	}
	r, err := shell(t, dir, "touch ran")
	require.NoError(t, err)
	assert.NotNil(t, r.Leftover)
	settled(t, dir)
}
