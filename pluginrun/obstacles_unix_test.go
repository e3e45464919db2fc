//go:build unix

package pluginrun

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What is in the way of a file that is to be restored is named and left alone; once it is gone, the next run restores.
func TestInTheWayOfARestore(t *testing.T) {
	for name, c := range map[string]struct{ file, make, what string }{
		"where nothing was": {"pnpm-lock.yaml", "mkdir pnpm-lock.yaml", "a directory"},
		"where a file was":  {manifest, "rm package.json; mkdir package.json", "a directory"},
		"a FIFO":            {manifest, "rm package.json; mkfifo package.json", "something that is no regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := profile(t)
			path := filepath.Join(dir, c.file)
			_, err := shell(t, dir, c.make+"; exit 3")
			for range 2 {
				var failed *Error
				require.ErrorAs(t, err, &failed)
				assert.Equal(t, path, failed.Path)
				assert.ErrorContains(t, err, c.what+" is in the way")
				assert.ErrorContains(t, err, "move it away, and run again")
				_, err = shell(t, dir, "touch ran")
			}
			assert.NoFileExists(t, filepath.Join(dir, "ran"))
			require.NoError(t, os.Rename(path, filepath.Join(dir, "away")))
			_, err = shell(t, dir, "")
			require.NoError(t, err)
			assert.Equal(t, "{}\n", read(t, filepath.Join(dir, manifest)))
			assert.NoFileExists(t, filepath.Join(dir, "pnpm-lock.yaml"))
			settled(t, dir)
		})
	}
}

// A record that could not be read for a reason of the system's says nothing of who wrote it.
func TestRecordThatCannotBeRead(t *testing.T) {
	dir := profile(t)
	recordOf(t, dir, 1, true)
	var was syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was))
	next, err := syscall.Open(dir, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	require.NoError(t, err)
	require.NoError(t, syscall.Close(next))
	// The directory of the record still gets a descriptor, the record none.
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: uint64(next) + 1, Max: was.Max}))
	_, err = Inspect(dir)
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was))
	assert.ErrorIs(t, err, syscall.EMFILE)
	var failed *Error
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, place{dir}.record(), failed.Path)
}
