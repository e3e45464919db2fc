package pluginrun

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// longestTicker is how long a script goes on whose end nobody asks for.
const longestTicker = 5 * time.Minute

func init() {
	children["tick"] = childTick
	children["alone"] = childAlone
}

// spoiled is the lockfile of the other kind, which m does not read.
func (m manager) spoiled() string {
	if m.name == "npm" {
		return "pnpm-lock.yaml"
	}
	return "package-lock.json"
}

// ticker is a command of sh, for a lifecycle script: it goes on, and leaves a file half written.
func (m manager) ticker() string {
	return fmt.Sprintf("env %s=tick '%s' %s", childEnv, os.Args[0], m.spoiled())
}

// ticker is a profile whose lifecycle script ticks.
type ticker struct{ dir string }

func (k ticker) ticks() string { return filepath.Join(k.dir, "ticks") }

// childTick SPOILED: in the working directory, leaves SPOILED half written, holds the file ticks and writes its process
// number there, then a tick each 10 ms, until a file named end exists. A second argument gives it a session of its own.
func childTick(args []string) error {
	if len(args) > 1 {
		if _, err := syscall.Setsid(); err != nil {
			return err
		}
	}
	f, err := os.Create("ticks")
	if err != nil {
		return err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return err
	}
	if err := os.WriteFile(args[0], []byte(`{"half`), 0o600); err != nil {
		return err
	}
	fmt.Fprintln(f, os.Getpid())
	for end := time.Now().Add(longestTicker); time.Now().Before(end); time.Sleep(10 * time.Millisecond) { // the workload
		if _, err := os.Lstat("end"); err == nil {
			break
		}
		fmt.Fprintln(f, "tick")
	}
	return nil
}

// childAlone SPOILED: fails if a ticker goes on in the working directory, or if what it spoiled is not restored.
func childAlone(args []string) error {
	if (ticker{"."}).goesOn() {
		return fmt.Errorf("began while a script of the earlier run goes on")
	}
	if _, err := os.Lstat(args[0]); err == nil {
		return fmt.Errorf("began before %s was restored", args[0])
	}
	fmt.Println("alone")
	return nil
}

func (k ticker) goesOn() bool {
	f, err := os.Open(k.ticks())
	if err != nil {
		return false
	}
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil
}

// pid waits until the ticker ticks.
func (k ticker) pid(t testing.TB) (pid int) {
	t.Helper()
	require.Eventually(t, func() bool {
		content, _ := os.ReadFile(k.ticks())
		first, _, found := strings.Cut(string(content), "\n")
		var err error
		pid, err = strconv.Atoi(first)
		return found && err == nil
	}, longest, time.Millisecond)
	return pid
}

func (k ticker) stop(t testing.TB) {
	t.Helper()
	write(t, filepath.Join(k.dir, "end"), "")
}

// A script that outlives its manager, in a session of its own, is named and keeps the next run waiting; what the manager
// did stays done.
func TestScriptThatOutlivesItsManager(t *testing.T) {
	eachManager(t, func(t *testing.T, m manager) {
		dir := m.profile(m.ticker() + " session </dev/null >/dev/null 2>&1 &\n" + "while [ ! -s ticks ]; do sleep 0.01; done\n")
		k := ticker{dir}
		r := m.order(order{Dir: dir, Args: []string{"install"}}).done()
		r.succeeded(t)
		pid := k.pid(t)
		require.True(t, k.goesOn())
		require.Len(t, r.Result.Survivors, 1)
		assert.Equal(t, pid, r.Result.Survivors[0].PID)
		assert.False(t, r.Result.OutputCut)
		assert.FileExists(t, filepath.Join(dir, m.spoiled()))

		quick := order{Dir: dir, Program: "sh", Args: []string{"-c", "exit 0"}, LeftoverWait: 100 * time.Millisecond}
		r = m.order(quick).done()
		require.NotNil(t, r.Active, r.Error)
		require.Len(t, r.Active.Processes, 1)
		assert.Equal(t, pid, r.Active.Processes[0].PID)
		assert.Equal(t, place{dir}.record(), r.Active.Record)
		k.stop(t)
		quick.LeftoverWait = 0
		m.order(quick).done().succeeded(t)
		assert.FileExists(t, filepath.Join(dir, m.spoiled()))
		nothingLeft(t, dir)
	})
}
