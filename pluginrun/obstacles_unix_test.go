//go:build unix

package pluginrun

import (
	"os"
	"path/filepath"
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

// A file below what is no directory is as missing as any other, before a run and after it.
func TestFileBelowAFile(t *testing.T) {
	for before, script := range map[string]string{"": "echo 1 >sub", "echo 1 >sub": "rm sub; mkdir sub; echo 1 >sub/x"} {
		t.Run(script, func(t *testing.T) {
			dir := profile(t)
			_, err := shell(t, dir, before)
			require.NoError(t, err)
			r, err := shell(t, dir, script+"; exit 3", Restore("sub/x"))
			require.NoError(t, err)
			assert.Equal(t, 3, r.ExitCode)
			assert.NoFileExists(t, filepath.Join(dir, "sub", "x"))
			settled(t, dir)
		})
	}
}
