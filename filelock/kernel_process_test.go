package filelock

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func init() {
	children["kernel hold"] = childKernelHold
	children["kernel end"] = childKernelEnd
	children["kernel crowd"] = childKernelCrowd
	children["kernel count"] = childKernelCount
	children["kernel parent"] = childKernelParent
}

// childKernelHold FILE: prints "held" and holds until its input ends.
func childKernelHold(args []string) error {
	l, err := Kernel(args[0], Wait(Forever)).Acquire(context.Background())
	if err != nil {
		return err
	}
	fmt.Println("held")
	io.Copy(io.Discard, os.Stdin)
	return l.Release()
}

// childKernelEnd FILE HOW: holds until its input ends, and then ends without a release.
func childKernelEnd(args []string) error {
	if _, err := Instance(args[0]); err != nil {
		return err
	}
	runtime.GC() // the lease was dropped
	fmt.Println("held")
	io.Copy(io.Discard, os.Stdin)
	switch args[1] {
	case "exit":
		os.Exit(3)
	case "panic":
		panic("on purpose")
	}
	return nil
}

// childKernelCrowd FILE N: N goroutines take the lock once, each alone with a witness that it makes and removes.
func childKernelCrowd(args []string) error {
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin)
	l := Kernel(args[0], Wait(Forever))
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			errs[i] = Do(context.Background(), l, func(context.Context, Lease) error { return witness(args[0]) })
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// witness fails if another one is there at the same time.
func witness(lock string) error {
	name := lock + ".witness"
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("two at once: %w", err)
	}
	return errors.Join(f.Close(), os.Remove(name))
}

// childKernelCount FILE N: adds 1 to the number in FILE.count N times.
func childKernelCount(args []string) error {
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	l := Kernel(args[0], Wait(Forever))
	add := func(context.Context, Lease) error {
		text, err := os.ReadFile(args[0] + ".count")
		if err != nil {
			return err
		}
		count, err := strconv.Atoi(string(text))
		if err != nil {
			return err
		}
		return os.WriteFile(args[0]+".count", []byte(strconv.Itoa(count+1)), 0o600)
	}
	for range n {
		if err := Do(context.Background(), l, add); err != nil {
			return err
		}
	}
	return nil
}

// childKernelParent FILE: holds, and starts a child that idles on the same input.
func childKernelParent(args []string) error {
	if _, err := Instance(args[0]); err != nil {
		return err
	}
	cmd := command("idle")
	cmd.Stdin, cmd.Stdout = os.Stdin, os.Stdout
	return cmd.Run()
}

// The lock file does not exist yet, and two hundred want it first.
func TestKernelFirstOfAll(t *testing.T) {
	t.Parallel()
	path := kernelFile(t)
	var all []*child
	for range 4 {
		c := start(t, command("kernel crowd", path, "50"))
		require.Equal(t, "ready", c.line())
		all = append(all, c)
	}
	for _, c := range all {
		require.NoError(t, c.in.Close())
	}
	for _, c := range all {
		assert.NoError(t, c.cmd.Wait())
	}
	assert.Equal(t, []string{"run.lock"}, entries(t, path))
}

func TestKernelProcessesDoNotOverlap(t *testing.T) {
	t.Parallel()
	path := kernelFile(t)
	each := 1000
	if runtime.GOOS == "windows" || testing.Short() { // each step is a message to one server under Wine
		each = 50
	}
	write(t, path+".count", []byte("0"))
	const processes = 8
	var all []*child
	for range processes {
		all = append(all, start(t, command("kernel count", path, strconv.Itoa(each))))
	}
	for _, c := range all {
		require.NoError(t, c.cmd.Wait())
	}
	assert.Equal(t, strconv.Itoa(processes*each), read(t, path+".count"))
}

// However the holder ends, who waits gets in, and who asks knows of nothing.
func TestKernelHolderEndsWithoutRelease(t *testing.T) {
	for _, how := range []string{"exit", "panic", "kill"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			path := kernelFile(t)
			cmd := command("kernel end", path, how)
			cmd.Stderr = io.Discard // the panic
			holder := start(t, cmd)
			require.Equal(t, "held", holder.line())
			waiting, got := make(chan struct{}), make(chan error)
			go func() {
				l, err := kernelFor(t, osSystem{}, path, Wait(time.Minute), OnWait(onceClose(waiting)))
				if err == nil {
					err = l.Release()
				}
				got <- err
			}()
			<-waiting
			if how == "kill" {
				holder.kill()
			} else {
				require.NoError(t, holder.in.Close())
			}
			assert.NoError(t, <-got)
			assert.True(t, strings.HasPrefix(read(t, path), strconv.Itoa(os.Getpid())+"-"))
		})
	}
}

// A second start is refused at once and told who runs; once the first was killed, its number in the file keeps nobody out.
func TestKernelInstanceOfAnotherProcess(t *testing.T) {
	t.Parallel()
	path := kernelFile(t)
	first := start(t, command("kernel end", path, "exit"))
	require.Equal(t, "held", first.line())
	_, err := Instance(path)
	var held *HeldError
	require.ErrorAs(t, err, &held)
	assert.Equal(t, first.cmd.Process.Pid, held.Holder.PID)
	assert.Equal(t, Alive, held.Holder.State)
	assert.Contains(t, err.Error(), strconv.Itoa(first.cmd.Process.Pid))
	first.kill()
	second, err := Instance(path, Wait(10*time.Second)) // Windows lets go a moment after the end
	require.NoError(t, err)
	require.NoError(t, second.Release())
}

// A child that was started while the lock was held does not keep it when the holder is killed.
func TestKernelChildDoesNotKeepTheLock(t *testing.T) {
	t.Parallel()
	path := kernelFile(t)
	holder := start(t, command("kernel parent", path))
	require.Contains(t, holder.line(), "idle ")
	holder.kill()
	l, err := kernelFor(t, osSystem{}, path, Wait(10*time.Second))
	require.NoError(t, err)
	require.NoError(t, l.Release())
	require.NoError(t, holder.in.Close())
	rest, err := io.ReadAll(holder.out)
	require.NoError(t, err)
	assert.Equal(t, "idle ended\n", strings.ReplaceAll(string(rest), "\r", ""), "the holder's child lived on")
}
