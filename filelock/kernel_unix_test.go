//go:build unix

package filelock

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// The umask does not make a lock file that its own user cannot open.
func TestKernelFileUnderAStrangeUmask(t *testing.T) {
	path := kernelFile(t)
	old := syscall.Umask(0o777)
	l, err := kernelFor(t, osSystem{}, path)
	syscall.Umask(old)
	require.NoError(t, err)
	info, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode())
	require.NoError(t, l.Release())
}

// Any program that uses flock on the file excludes and is excluded, and wakes those who wait.
func TestKernelBesideFlock(t *testing.T) {
	path := kernelFile(t)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	require.NoError(t, err)
	require.NoError(t, unix.Flock(int(f.Fd()), unix.LOCK_EX))
	assert.ErrorIs(t, refusedKernel(t, path), ErrHeld)
	waiting, got := make(chan struct{}), make(chan *KernelLease)
	go func() {
		l, err := kernelWith(t, context.Background(), osSystem{}, newKernelTable(), path, Wait(Forever), OnWait(onceClose(waiting)))
		assert.NoError(t, err)
		got <- l
	}()
	<-waiting
	require.NoError(t, f.Close())
	l := <-got
	f, err = os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	defer f.Close()
	assert.ErrorIs(t, unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB), unix.EWOULDBLOCK)
	require.NoError(t, l.Release())
	assert.NoError(t, unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB))
}

// What the system cannot do is not taken for a lock that somebody holds, and says so whatever number it has.
func TestKernelSystemAnswers(t *testing.T) {
	for _, errno := range []syscall.Errno{unix.ENOLCK, unix.ENOSYS, unix.EOPNOTSUPP, unix.EBADF, unix.EIO} {
		path := kernelFile(t)
		_, err := kernelFor(t, kernelFailing(errno, "tryLock"), path, Wait(Forever))
		var failed *Error
		require.ErrorAs(t, err, &failed)
		assert.Equal(t, path, failed.Path)
		assert.ErrorIs(t, err, errno)
		assert.NotErrorIs(t, err, ErrUnavailable)
		assert.Equal(t, errno != unix.EBADF && errno != unix.EIO, errors.Is(err, errors.ErrUnsupported), errno)
		mustKernel(t, path)
	}
}

// The descriptor can write, which an exclusive lock on a network file system needs; so can a reader's.
func TestKernelDescriptorIsReadWrite(t *testing.T) {
	path := kernelFile(t)
	for _, opts := range [][]Option{nil, {Shared()}} {
		fake := &kernelFake{kernelSystem: osSystem{}}
		fake.on = func(op string, f lockFile) error {
			if op == "tryLock" {
				_, err := f.(*kernelFakeFile).lockFile.WriteAt([]byte("1\n"), 0)
				assert.NoError(t, err)
			}
			return nil
		}
		l, err := kernelFor(t, fake, path, opts...)
		require.NoError(t, err)
		require.NoError(t, l.Release())
	}
}
