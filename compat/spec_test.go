package compat

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/atomicwrite"
	"github.com/holdfast-go/holdfast/filelock"
	"github.com/holdfast-go/holdfast/internal/spec"
)

func TestSpecErrors(t *testing.T) {
	type row struct {
		spec.Case
		Errno  int             `json:"errno"`
		Before spec.Tree       `json:"before"`
		Write  string          `json:"write"`
		Lock   string          `json:"lock"`
		Want   string          `json:"want"`
		Node   json.RawMessage `json:"node"`
	}
	dead, live := twoProcesses(t)
	spec.Run(t, "errors.json", func(t *testing.T, c row) {
		if c.Errno != 0 {
			assert.Equal(t, c.Want, Code(syscall.Errno(c.Errno)))
			return
		}
		dir := t.TempDir()
		c.Before.Fill("{dead}", dead, "{live}", live).Make(t, dir)
		var err error
		if c.Write != "" {
			err = atomicwrite.WriteFile(filepath.Join(dir, c.Write), nil, 0o600)
		} else {
			_, err = filelock.TryAcquire(context.Background(), filepath.Join(dir, c.Lock))
		}
		require.Error(t, err)
		assert.Equal(t, c.Want, Code(err))
	})
}

func init() {
	children["idle"] = func([]string) string {
		_, _ = io.Copy(io.Discard, os.Stdin)
		return ""
	}
}

// twoProcesses are the numbers of one that was reaped and of one that runs until the test ends.
func twoProcesses(t *testing.T) (dead, live string) {
	t.Helper()
	idle := func() (pid string, end func()) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childEnv+"=idle")
		in, err := cmd.StdinPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		return strconv.Itoa(cmd.Process.Pid), func() {
			in.Close()
			require.NoError(t, cmd.Wait())
		}
	}
	dead, end := idle()
	end()
	live, end = idle()
	t.Cleanup(end)
	return dead, live
}
