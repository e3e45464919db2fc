//go:build unix

package main

import (
	"context"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestSignalBeforeTheStart: CMD does not run if a signal came while the lock was being taken.
func TestSignalBeforeTheStart(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	s := &signals{ctx: ctx, cancel: cancel}
	s.handle(syscall.SIGTERM)
	cmd := exec.Command("tool", "exit", "0")
	assert.Equal(t, killed{syscall.SIGTERM}, s.begin(starting(cmd)))
	assert.Nil(t, cmd.Process)
}

// TestSignalAfterCommand: without CMD, a signal that would have been its business ends us.
func TestSignalAfterCommand(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	s := &signals{ctx: ctx, cancel: cancel}
	cmd := exec.Command("tool", "exit", "0")
	require.NoError(t, s.begin(starting(cmd)))
	s.handle(syscall.SIGUSR1)
	assert.NoError(t, ctx.Err())
	_ = cmd.Wait() // by its code or by the signal
	s.ended()
	s.handle(syscall.SIGUSR1)
	assert.Equal(t, killed{syscall.SIGUSR1}, context.Cause(ctx))
}

func starting(cmd *exec.Cmd) func() (*os.Process, error) {
	return func() (*os.Process, error) { err := cmd.Start(); return cmd.Process, err }
}
