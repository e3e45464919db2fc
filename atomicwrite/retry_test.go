package atomicwrite

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/sys"
)

func milliseconds(n ...int) (d []time.Duration) {
	for _, ms := range n {
		d = append(d, time.Duration(ms)*time.Millisecond)
	}
	return d
}

func TestPersist(t *testing.T) {
	all := milliseconds(20, 40, 80, 160, 200, 200, 200, 200)
	always := func(kinds ...error) []error { // the last one for ever
		for len(kinds) < 9 {
			kinds = append(kinds, kinds[len(kinds)-1])
		}
		return kinds
	}
	foreign := errors.New("foreign")
	for _, c := range []struct {
		name    string
		answers []error
		unix    bool
		want    error
		paused  []time.Duration
	}{
		{name: "done at once", answers: []error{nil}},
		{name: "done at the second try", answers: []error{sys.NotPermitted, nil}, paused: all[:1]},
		{name: "done at the last try", answers: append(always(sys.InUse)[:8], nil), paused: all},
		{name: "refused to the end", answers: always(sys.NotPermitted), want: sys.NotPermitted, paused: all},
		{name: "in use tells more than no, before", answers: always(sys.InUse, sys.NotPermitted), want: sys.InUse, paused: all},
		{name: "in use tells more than no, after", answers: always(sys.NotPermitted, sys.InUse), want: sys.InUse, paused: all},
		{name: "busy tells more than no", answers: always(sys.Busy, sys.NotPermitted), want: sys.Busy, paused: all},
		{name: "in use tells more than busy", answers: always(sys.InUse, sys.Busy), want: sys.InUse, paused: all},
		{name: "the later of two equals", answers: always(sys.InUse, sys.WouldBlock), want: sys.WouldBlock, paused: all},
		{name: "another error ends it", answers: []error{sys.InUse, sys.NotExist}, want: sys.NotExist, paused: all[:1]},
		{name: "another error at once", answers: []error{foreign}, want: foreign},
		{name: "never on Unix: EPERM", answers: []error{sys.NotPermitted}, unix: true, want: sys.NotPermitted},
		{name: "never on Unix: EBUSY", answers: []error{sys.Busy}, unix: true, want: sys.Busy},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMachine()
			m.windows = !c.unix
			tries := 0
			err := persist(m, func() error {
				tries++
				return c.answers[tries-1]
			})
			assert.Equal(t, c.want, err)
			assert.Equal(t, len(c.answers), tries)
			assert.Equal(t, c.paused, m.paused)
		})
	}
	sum := time.Duration(0)
	for _, d := range all {
		sum += d
	}
	assert.Equal(t, 1100*time.Millisecond, sum)
}

// TestRefusalsPass has everything that Windows refuses for a moment refused twice.
func TestRefusalsPass(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	put(t, path, oldContent, 0o600)
	twice := func(refused string) *machine {
		m := newMachine()
		m.windows = true
		m.fail = func(op string, _ int) error {
			if op == refused && m.count(op) <= 2 {
				return sys.InUse
			}
			return nil
		}
		return m
	}
	t.Run("rename", func(t *testing.T) {
		m := twice("replace")
		require.NoError(t, writeFile(m, path, []byte(newContent), 0o600, newOptions(nil)))
		assert.Equal(t, newContent, contentOf(t, path))
		assert.Len(t, m.paused, 2)
	})
	for _, op := range []string{"openFile", "read"} {
		t.Run("reading: "+op, func(t *testing.T) {
			m := twice(op)
			data, err := readFile(m, path)
			require.NoError(t, err)
			assert.Equal(t, newContent, string(data))
			assert.Len(t, m.paused, 2)
		})
	}
	t.Run("reading in an update", func(t *testing.T) {
		m := twice("open")
		r := replacement{sys: m, opt: newOptions(nil), path: path, stated: 0o600}
		require.NoError(t, update(r, func(old []byte, exists bool) ([]byte, error) {
			assert.Equal(t, newContent, string(old))
			return nil, ErrUnchanged
		}))
		assert.Len(t, m.paused, 2)
	})
	t.Run("refused to the end", func(t *testing.T) {
		m := newMachine()
		m.windows = true
		m.fail = func(op string, _ int) error {
			if op == "replace" {
				return sys.InUse
			}
			return nil
		}
		err := writeFile(m, path, []byte(oldContent), 0o600, newOptions(nil))
		require.ErrorIs(t, err, ErrInUse)
		assert.Contains(t, err.Error(), "another program has the file open")
		assert.Equal(t, newContent, contentOf(t, path))
		entries, err := os.ReadDir(filepath.Dir(path))
		require.NoError(t, err)
		assert.Len(t, entries, 1)
	})
}
