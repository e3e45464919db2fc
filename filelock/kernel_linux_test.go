package filelock

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/holdfast-go/holdfast/internal/sys"
)

// descriptorsOf are this process's descriptors of the file.
func descriptorsOf(t *testing.T, path string) (fds []int) {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	for _, e := range list {
		if to, err := os.Readlink(filepath.Join("/proc/self/fd", e.Name())); err == nil && to == path {
			fd, err := strconv.Atoi(e.Name())
			require.NoError(t, err)
			fds = append(fds, fd)
		}
	}
	return fds
}

// A copy of the descriptor, as a child has that was forked and has not executed yet, does not keep a released lock.
func TestKernelReleaseUnlocksCopies(t *testing.T) {
	path := kernelFile(t)
	l := mustKernel(t, path)
	copied, err := unix.Dup(descriptorsOf(t, path)[0])
	require.NoError(t, err)
	defer unix.Close(copied)
	require.NoError(t, l.Release())
	mustKernel(t, path)
}

func TestKernelDescriptorIsNotInherited(t *testing.T) {
	path := kernelFile(t)
	mustKernel(t, path)
	flags, err := unix.FcntlInt(uintptr(descriptorsOf(t, path)[0]), unix.F_GETFD, 0)
	require.NoError(t, err)
	assert.NotZero(t, flags&unix.FD_CLOEXEC)
}

// Whatever ends a wait, only the holder's descriptor stays.
func TestKernelFailedWaitLeavesNoDescriptor(t *testing.T) {
	path := kernelFile(t)
	l := mustKernel(t, path)
	ctx, cancel := context.WithCancel(context.Background())
	_, err := kernelWith(t, ctx, osSystem{}, newKernelTable(), path, Wait(Forever), OnWait(func(Holder) { cancel() }))
	require.ErrorIs(t, err, context.Canceled)
	refusedKernel(t, path)
	require.Len(t, descriptorsOf(t, path), 1)
	require.NoError(t, l.Release())
	assert.Empty(t, descriptorsOf(t, path))
}

// The kernel's own answer beats metadata that names somebody else.
func TestKernelNamesItsHolder(t *testing.T) {
	path := kernelFile(t)
	holder := start(t, command("kernel hold", path))
	require.Equal(t, "held", holder.line())
	write(t, path, []byte(strconv.Itoa(os.Getppid())+"-1\n"))
	var held *HeldError
	require.ErrorAs(t, refusedKernel(t, path), &held)
	locks, err := os.ReadFile("/proc/locks")
	if err != nil || !regexp.MustCompile(fmt.Sprintf(`FLOCK .* %d `, holder.cmd.Process.Pid)).Match(locks) {
		t.Skip("the kernel does not show its locks here")
	}
	assert.Equal(t, "the kernel names it", held.Holder.Why)
	assert.Equal(t, holder.cmd.Process.Pid, held.Holder.PID)
	assert.Equal(t, Alive, held.Holder.State)
	assert.Contains(t, held.Holder.Command, filepath.Base(os.Args[0]))
	assert.False(t, held.Holder.Started.IsZero())
	holder.end()
	assert.Empty(t, sys.LockedBy(sys.FileID{}))
}
