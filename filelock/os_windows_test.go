package filelock

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"
)

// keepNumber keeps a process's number from being used again before the test ends. It must still be known: running, or not
// yet waited for.
func keepNumber(t testing.TB, pid int) {
	t.Helper()
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	require.NoError(t, err)
	t.Cleanup(func() { windows.CloseHandle(h) })
}

func makeFIFO(*testing.T, string) error { return errors.ErrUnsupported }
