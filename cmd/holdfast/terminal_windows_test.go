package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"
)

// To ask whether the keyboard is a console must not turn its echo on, as somebody may be typing a password.
func TestKeyboardIsLeftAlone(t *testing.T) {
	_, _, _ = windows.NewLazySystemDLL("kernel32.dll").NewProc("AllocConsole").Call() // fails if there is one
	keyboard, err := os.OpenFile("CONIN$", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no console here: %v", err)
	}
	defer keyboard.Close()
	h := windows.Handle(keyboard.Fd())
	var before uint32
	require.NoError(t, windows.GetConsoleMode(h, &before))
	defer windows.SetConsoleMode(h, before)
	for _, mode := range []uint32{windows.ENABLE_PROCESSED_INPUT | windows.ENABLE_LINE_INPUT, 0} {
		require.NoError(t, windows.SetConsoleMode(h, mode))
		assert.True(t, isTerminal(keyboard))
		var after uint32
		require.NoError(t, windows.GetConsoleMode(h, &after))
		assert.Equal(t, mode, after)
	}
}
