//go:build unix

package atomicwrite

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/renameio/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestBesideRenameio compares the bytes and modes that result with those of another library. Its WriteFile keeps the mode of
// what it replaces, as KeepMode does.
func TestBesideRenameio(t *testing.T) {
	for _, c := range []struct {
		name   string
		ours   []Option
		theirs []renameio.Option
	}{
		{"umask or kept", []Option{KeepMode()}, nil},
		{"exact or kept", []Option{KeepMode(), ExactMode()}, []renameio.Option{renameio.IgnoreUmask()}},
	} {
		for _, there := range []string{"nothing", "0600", "0644", "0444", "0777", "link", "dangling"} {
			for _, mode := range []fs.FileMode{0o600, 0o644, 0o666, 0o777, 0o400} {
				for _, size := range []int{0, 1, 4096, 1 << 20} {
					t.Run(fmt.Sprintf("%s/over %s/%v/%d bytes", c.name, there, mode, size), func(t *testing.T) {
						dir := t.TempDir()
						data := make([]byte, size)
						ours, theirs := filepath.Join(dir, "ours"), filepath.Join(dir, "theirs")
						for _, path := range []string{ours, theirs} {
							prepareTarget(t, path, there)
						}
						require.NoError(t, WriteFile(ours, data, mode, c.ours...))
						require.NoError(t, renameio.WriteFile(theirs, data, mode, c.theirs...))
						assert.Equal(t, modeOf(t, theirs), modeOf(t, ours))
						assert.Equal(t, contentOf(t, theirs), contentOf(t, ours))
					})
				}
			}
		}
	}
}

func prepareTarget(t *testing.T, path, there string) {
	t.Helper()
	switch there {
	case "nothing":
	case "link":
		put(t, path+".referent", oldContent, 0o640)
		link(t, path+".referent", path)
	case "dangling":
		link(t, path+".referent", path)
	default:
		var mode os.FileMode
		_, err := fmt.Sscanf(there, "%o", &mode)
		require.NoError(t, err)
		put(t, path, oldContent, mode)
	}
}
