package atomicwrite

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testenv"
)

// Writers of Node and of ours replace one file at once while readers of both read it: all that is read is whole, nobody
// fails, nothing is left, and what looks like a temporary file of either is not touched by the other.
func TestBesideWritersOfNode(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Node runs outside")
	}
	for _, impl := range []string{"rc8", "write-file-atomic"} {
		t.Run(impl, func(t *testing.T) {
			script := filepath.Join(testenv.Node(t), "write.mjs")
			dir := inMemory(t)
			path := filepath.Join(dir, "file")
			strangers := []string{"file.001fa0ff1009.tmp", "file.1234567890"}
			for _, name := range strangers {
				put(t, filepath.Join(dir, name), "a stranger's", 0o600)
			}
			require.NoError(t, WriteFile(path, letters(0), 0o600, Sync(SyncNone)))

			peer := exec.Command("node", script, "--impl", impl, "--file", path, "--count", "100")
			var said strings.Builder
			peer.Stdout, peer.Stderr = &said, &said
			require.NoError(t, peer.Start())
			done := make(chan struct{})
			var ours sync.WaitGroup
			until := func(do func(n int) error) {
				ours.Go(func() {
					for n := 0; ; n++ {
						select {
						case <-done:
							return
						default:
						}
						if err := do(n); !assert.NoError(t, err) {
							return
						}
					}
				})
			}
			written := 0
			until(func(n int) error {
				written++
				return WriteFile(path, letters(n%13), 0o600, Sync(SyncNone))
			})
			seen := map[byte]int{}
			until(func(int) error {
				data, err := ReadFile(path)
				if err != nil {
					return err
				}
				seen[data[0]]++
				if n := int(data[0] - 'a'); string(data) != string(letters(n)) {
					return fmt.Errorf("%d bytes of %c", len(data), data[0])
				}
				return nil
			})
			err := peer.Wait()
			close(done)
			ours.Wait()
			require.NoError(t, err, "%s", &said)
			assert.Equal(t, 100, strings.Count(said.String(), "written"))
			assert.Equal(t, append([]string{"file"}, strangers...), names(t, dir))
			for _, name := range strangers {
				assert.Equal(t, "a stranger's", contentOf(t, filepath.Join(dir, name)))
			}
			t.Logf("%d replacements of ours, %d contents read", written, len(seen))
		})
	}
}

// letters are 20000 and n of the n-th letter.
func letters(n int) []byte { return []byte(strings.Repeat(string(rune('a'+n)), 20_000+n)) }

// inMemory is a directory on a file system in memory where there is one: write-file-atomic syncs, and the disk is not the
// subject.
func inMemory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "aw")
	if err != nil {
		return shortDir(t)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}
