package sys

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFlockOwner(t *testing.T) {
	const inode = "fe:00:77"
	for line, want := range map[string]int{
		"1: FLOCK  ADVISORY  WRITE 13458 fe:00:77 0 EOF\n": 13458,
		"2: FLOCK  ADVISORY  READ 9 fe:00:77 0 EOF\n":      9,
		"1: -> FLOCK  ADVISORY  WRITE 8 fe:00:77 0 EOF\n":  0,
		"1: POSIX  ADVISORY  WRITE 8 fe:00:77 0 EOF\n":     0,
		"1: FLOCK  ADVISORY  WRITE 8 fe:00:771 0 EOF\n":    0,
		"1: FLOCK  ADVISORY  WRITE 8 fd:00:77 0 EOF\n":     0,
		"1: FLOCK  ADVISORY  WRITE -1 fe:00:77 0 EOF\n":    -1, // an open file's lock, of nobody
		"1: FLOCK\n": 0,
		"":           0,
	} {
		assert.Equal(t, want, flockOwner(line, inode), "%q", line)
	}
}

func TestLockedBy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	f, err := CreateLock(path, 0o600)
	require.NoError(t, err)
	defer f.Close()
	info, err := f.Stat()
	require.NoError(t, err)
	assert.Empty(t, LockedBy(info.ID))
	second, err := OpenLock(path)
	require.NoError(t, err)
	defer second.Close()
	require.NoError(t, f.TryLock(false))
	require.NoError(t, second.TryLock(false))
	if len(LockedBy(info.ID)) == 0 {
		t.Skip("the kernel does not show its locks here")
	}
	assert.Equal(t, []int{os.Getpid()}, LockedBy(info.ID), "each process once")
}

// Who watches is told of every close of the inode, of its unlinking, and of nothing after stop.
func TestWatchClose(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	f, err := CreateLock(path, 0o600)
	require.NoError(t, err)
	defer f.Close()
	told := make(chan struct{}, 16)
	stop, err := f.WatchClose(func() { told <- struct{}{} })
	require.NoError(t, err)
	other := make(chan struct{}, 16)
	stopOther, err := f.WatchClose(func() { other <- struct{}{} })
	require.NoError(t, err)
	for range 3 {
		another, err := OpenLock(path)
		require.NoError(t, err)
		require.NoError(t, another.Close())
		await(t, told)
		await(t, other)
	}
	stop()
	stop()
	require.NoError(t, os.Remove(path))
	await(t, other)
	stopOther()
	assert.Empty(t, told)
	inodes.mu.Lock()
	defer inodes.mu.Unlock()
	assert.Empty(t, inodes.wakers)
}

func await(t *testing.T, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(10 * time.Second):
		t.Fatal("not told")
	}
}
