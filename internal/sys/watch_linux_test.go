package sys

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/holdfast-go/holdfast/internal/testenv"
)

// The kernel's requests to a file server, by their numbers in linux/fuse.h.
const (
	fuseLookup = 1
	fuseInit   = 26
)

// hungServer mounts a file system whose server answers nothing once somebody looks for a name in it; asked is closed then.
// Its end lets those go who wait for it.
func hungServer(t *testing.T) (dir string, asked <-chan struct{}, end func()) {
	t.Helper()
	server, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skip("no file servers here: ", err)
	}
	dir = t.TempDir()
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", server)
	if err := unix.Mount("hung", dir, "fuse", 0, options); err != nil {
		unix.Close(server)
		t.Skip("no file servers here: ", err)
	}
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	c := make(chan struct{})
	go func() {
		request := make([]byte, 1<<16)
		for {
			n, err := unix.Read(server, request)
			if err == unix.EINTR || err == unix.ENOENT { // ENOENT: who asked asks no more
				continue
			}
			if err != nil || n < 40 {
				return
			}
			switch binary.NativeEndian.Uint32(request[4:]) {
			case fuseInit:
				answer := make([]byte, 16+64)
				binary.NativeEndian.PutUint32(answer, uint32(len(answer)))
				copy(answer[8:16], request[8:16])
				binary.NativeEndian.PutUint32(answer[16:], 7)
				binary.NativeEndian.PutUint32(answer[20:], 23)
				binary.NativeEndian.PutUint32(answer[36:], 4096)
				if _, err := unix.Write(server, answer); err != nil {
					return
				}
			case fuseLookup:
				close(c)
				return
			}
		}
	}()
	return dir, c, func() { unix.Close(server) }
}

// A file server that does not answer keeps nobody from watching, and from ceasing to watch, other files.
func TestWatchBesideAHungServer(t *testing.T) {
	testenv.Root(t)
	dir, asked, end := hungServer(t)
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	defer unix.Close(fd)

	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	f, err := OpenLock(path)
	require.NoError(t, err)
	defer f.Close()
	woken := make(chan struct{}, 1)
	wake := func() {
		select {
		case woken <- struct{}{}:
		default:
		}
	}
	stopFirst, err := f.WatchClose(wake)
	require.NoError(t, err)

	hung := make(chan error)
	go func() {
		_, err := (&Dir{fd: fd}).Watch("name", func() {})
		hung <- err
	}()
	<-asked
	others := make(chan error)
	go func() {
		stopFirst()
		stop, err := f.WatchClose(wake) // the same inode again, whose watch has not ended yet
		if err == nil {
			var other *File
			if other, err = OpenLock(path); err == nil {
				other.Close()
				<-woken
			}
			stop()
		}
		others <- err
	}()
	select {
	case err := <-others:
		assert.NoError(t, err)
	case <-time.After(10 * time.Second):
		t.Error("who watches another file is kept waiting")
		defer func() { <-others }()
	}
	end()
	assert.Error(t, <-hung)
	inodes.mu.Lock()
	defer inodes.mu.Unlock()
	assert.Empty(t, inodes.wakers)
	assert.Empty(t, inodes.idle)
}
