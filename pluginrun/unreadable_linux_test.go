package pluginrun

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
