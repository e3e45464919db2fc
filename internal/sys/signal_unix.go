//go:build unix

package sys

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// SignalName is a signal's name, such as SIGTERM, or SIG35 for one that has only a number, as real-time signals do.
func SignalName(sig syscall.Signal) string {
	if name := unix.SignalName(sig); name != "" {
		return name
	}
	return fmt.Sprintf("SIG%d", int(sig))
}

// DieBy ends this process by sig, without a core dump. It returns only if that is not possible, as when sig is ignored, or
// this is the first process of a container.
func DieBy(sig syscall.Signal) {
	switch sig {
	case syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL:
		if os.Getpid() == 1 { // the system keeps the signal from it, and Go's runtime would then end it with 2
			return
		}
		signal.Reset(sig)
		if syscall.Kill(os.Getpid(), sig) == nil {
			time.Sleep(time.Second) // until it arrives
		}
	default: // a Go program survives these or prints its stacks, a shell in its place does not
		script := fmt.Sprintf("ulimit -c 0; kill -%d $$; exit %d", int(sig), 128+int(sig))
		_ = syscall.Exec("/bin/sh", []string{"sh", "-c", script}, os.Environ())
	}
}
