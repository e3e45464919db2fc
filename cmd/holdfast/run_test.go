package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/pluginrun"
)

// TestEndNotSeen: a run whose end nobody saw was undone, and that is no success.
func TestEndNotSeen(t *testing.T) {
	var said bytes.Buffer
	r := &profileRun{c: &call{messages: &messages{to: &said}}, dir: "profile", name: "pnpm"}
	result := &pluginrun.Result{ExitCode: -1, Restored: []string{"package.json"}, Log: "x.log"}
	err := r.becameOf(result, r.ended(result), nil)
	var own *failure
	require.ErrorAs(t, err, &own)
	assert.Equal(t, exitNotStarted, own.code)
	assert.Equal(t, "how pnpm ended could not be found out; restored package.json in profile; its output is in x.log", own.text)
	assert.Empty(t, said.String())
}
