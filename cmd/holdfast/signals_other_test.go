//go:build !unix

package main

import (
	"context"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The end of the console or of the session, which the runtime calls SIGTERM, is heard: nothing of ours is left behind.
func TestEndOfConsole(t *testing.T) {
	assert.Contains(t, forwarded, os.Signal(syscall.SIGTERM))
	ctx, cancel := context.WithCancelCause(context.Background())
	command, err := os.FindProcess(os.Getpid())
	require.NoError(t, err)
	s := &signals{ctx: ctx, cancel: cancel, command: command}
	s.handle(syscall.SIGTERM)
	assert.Equal(t, killed{syscall.SIGTERM}, context.Cause(ctx))
}
