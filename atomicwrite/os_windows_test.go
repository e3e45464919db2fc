package atomicwrite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func umaskApplies(t *testing.T) { t.Skip("Windows has no umask") }

func irregularTargets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.Mkdir(path, 0o755))
	m := newMachine()
	err := writeFile(m, path, []byte(newContent), 0o600, newOptions([]Option{RefuseIrregular(false)}))
	require.ErrorIs(t, err, ErrIsDirectory)
	assert.Equal(t, 0, m.count("createNew"), "nothing is written first")
	assert.DirExists(t, path)
}

// openElsewhere has the file open as os.Open does it, which does not share deletion.
func openElsewhere(t *testing.T) {
	for _, mode := range []os.FileMode{0o600, 0o400} {
		path := filepath.Join(t.TempDir(), "file")
		put(t, path, oldContent, 0o600)
		f, err := os.Open(path)
		require.NoError(t, err)
		defer f.Close()

		start := time.Now()
		err = WriteFile(path, []byte(newContent), mode)
		took := time.Since(start)
		require.Error(t, err)
		assert.Contains(t, err.Error(), "open")
		assert.GreaterOrEqual(t, took, 1100*time.Millisecond)
		assert.Equal(t, oldContent, contentOf(t, path))
		assert.Equal(t, []string{"file"}, names(t, filepath.Dir(path)))

		require.NoError(t, f.Close())
		require.NoError(t, WriteFile(path, []byte(newContent), 0o600))
		assert.Equal(t, newContent, contentOf(t, path))
	}
}

func TestNamesOfWindows(t *testing.T) {
	for _, path := range []string{`dir\`, `dir/`, "NUL", `dir\con.txt`, `dir\file:stream`, `dir\..`, `C:`} {
		t.Run(strings.ReplaceAll(path, "/", "slash"), func(t *testing.T) {
			assert.ErrorIs(t, WriteFile(path, nil, 0o600), ErrInvalidPath)
		})
	}
}

func TestLengthOfNames(t *testing.T) {
	for name, want := range map[string]int{
		"": 0, "n": 1, "\u00e4": 1, "\U0001f600": 2, "n\xed\xa0\x80n": 3, "\xff": 1,
	} {
		assert.Equal(t, want, lengthOf(name), "%q", name)
	}
}
