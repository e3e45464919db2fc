package filelock

import (
	"context"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testenv"
)

// peers are the packages of Node that lock on our path: what a contender of theirs says that does not get the lock, and
// what a contender of ours says of theirs.
var peers = []struct {
	impl  string
	wait  []string // not to wait; the released package cannot be told
	fails string
	found string
}{
	{"rc8", nil, "timed out", "is held by PID "},
	{"later", []string{"--wait", "0"}, "timed out", "is held by PID "},
	{"proper", []string{"--wait", "0"}, "ELOCKED", "it is a directory"},
	{"npm", []string{"--wait", "0"}, "EEXIST", "it is empty"},
}

func eachPeer(t *testing.T, run func(t *testing.T, n int, path string)) {
	if runtime.GOOS == "windows" {
		t.Skip("Node runs outside")
	}
	for n, p := range peers {
		t.Run(p.impl, func(t *testing.T) {
			t.Parallel()
			testenv.Node(t)
			path := inMemory(t)
			write(t, path, nil)
			run(t, n, path)
		})
	}
}

// A lock of a peer's is waited for and left as it is, and had once the peer releases it.
func TestPeersHold(t *testing.T) {
	eachPeer(t, func(t *testing.T, n int, path string) {
		holder := start(t, node(t, "hold.mjs", "--impl", peers[n].impl, "--file", path))
		require.Contains(t, holder.line(), "held ")
		before, err := os.Lstat(path + lockSuffix)
		require.NoError(t, err)

		_, err = try(t, path)
		require.ErrorIs(t, err, ErrHeld)
		assert.ErrorContains(t, err, peers[n].found)
		waited := make(chan struct{}, 100)
		got := make(chan error)
		go func() {
			l, err := Acquire(context.Background(), path, Wait(time.Minute), OnWait(func(Holder) { waited <- struct{}{} }))
			if err == nil {
				err = l.Release()
			}
			got <- err
		}()
		for range 4 {
			<-waited
		}
		after, err := os.Lstat(path + lockSuffix)
		require.NoError(t, err)
		assert.True(t, os.SameFile(before, after), "it is the peer's still")
		assert.Equal(t, []string{"settings.json", "settings.json.lock"}, entries(t, path))

		holder.in.Close()
		require.Equal(t, "released", holder.line())
		require.NoError(t, <-got)
		holder.end()
		assert.Equal(t, []string{"settings.json"}, entries(t, path))
	})
}

// A peer does not get a lock of ours, and gets it once it is released.
func TestPeersContend(t *testing.T) {
	eachPeer(t, func(t *testing.T, n int, path string) {
		l, err := try(t, path)
		require.NoError(t, err)
		flags := append([]string{"--impl", peers[n].impl, "--file", path}, peers[n].wait...)
		out, err := node(t, "hold.mjs", flags...).CombinedOutput()
		require.Error(t, err)
		assert.Contains(t, string(out), peers[n].fails)
		require.NoError(t, l.Check())
		require.NoError(t, l.Release())

		peer := start(t, node(t, "hold.mjs", flags...))
		require.Contains(t, peer.line(), "held ")
		peer.end()
		assert.Equal(t, []string{"settings.json"}, entries(t, path))
	})
}

// A writer that asks for no lock is not kept out by one, and does it no harm.
func TestWriteFileAtomicBesideHolder(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Node runs outside")
	}
	testenv.Node(t)
	path := target(t)
	l, err := try(t, path)
	require.NoError(t, err)
	out, err := node(t, "write.mjs", "--impl", "write-file-atomic", "--file", path, "--count", "5").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.NoError(t, l.Check())
	assert.Equal(t, []string{"settings.json", "settings.json.lock"}, entries(t, path))
	_, err = try(t, path)
	require.ErrorIs(t, err, ErrHeld)
	require.NoError(t, l.Release())
	assert.Equal(t, []string{"settings.json"}, entries(t, path))
}
