//go:build unix

package pluginrun

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// syncing is the real machine, which notes the directories that are made durable.
type syncing struct {
	osSystem
	t    testing.TB
	dirs map[string]bool
}

func (s syncing) syncDir(path string) error {
	s.dirs[path] = true
	return s.osSystem.syncDir(path)
}

func (s syncing) start(what start) (process, error) {
	p := place{what.dir}
	assert.Equal(s.t, map[string]bool{p.dir: true, p.copies(): true}, s.dirs)
	return s.osSystem.start(what)
}

// After a power cut in a profile's first run there is a name that leads to the copies.
func TestCopiesAreDurable(t *testing.T) {
	s := syncing{t: t, dirs: map[string]bool{}}
	_, err := run(context.Background(), s, newActive(), profile(t), newOptions([]Option{Program("sh")}), []string{"-c", "exit 0"})
	require.NoError(t, err)
}
