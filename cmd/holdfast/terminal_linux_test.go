package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// terminal is a pseudo-terminal with a command in its foreground.
type terminal struct {
	t    *testing.T
	keys *os.File // what is typed, and shown
	cmd  *exec.Cmd
	mu   sync.Mutex
	out  strings.Builder
	done chan struct{} // the output is complete
}

// onTerminal starts a command as the leader of a session on a terminal of so many columns.
func onTerminal(t *testing.T, columns uint16, args ...string) *terminal {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0) // so that closing ends a read
	if err != nil {
		t.Skipf("no pseudo-terminals: %v", err)
	}
	keys := os.NewFile(uintptr(fd), "/dev/ptmx")
	t.Cleanup(func() { keys.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	require.NoError(t, err)
	require.NoError(t, unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}))
	screen, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	defer screen.Close()

	c := &terminal{t: t, keys: keys, cmd: exec.Command(args[0], args[1:]...), done: make(chan struct{})}
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = screen, screen, screen
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(t, c.cmd.Start())
	t.Cleanup(func() { _ = c.cmd.Process.Kill() })
	go func() {
		defer close(c.done)
		buf := make([]byte, 4096)
		for {
			n, err := keys.Read(buf)
			if err != nil {
				return
			}
			c.mu.Lock()
			c.out.Write(buf[:n])
			c.mu.Unlock()
		}
	}()
	return c
}

func (c *terminal) shown() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out.String()
}

func (c *terminal) untilShown(pattern string) {
	c.t.Helper()
	re := regexp.MustCompile(pattern)
	require.NoError(c.t, eventually(func() (string, bool) { return c.shown(), re.MatchString(c.shown()) }))
}

func (c *terminal) press(key string) {
	_, err := c.keys.WriteString(key)
	require.NoError(c.t, err)
}

// ends waits for the end of the command and of its output.
func (c *terminal) ends() string {
	end := how(c.cmd.Wait())
	<-c.done
	return end
}

const ctrlC = "\x03"

// holder holds file's lock until it is told to release it, or the test ends.
func holder(t *testing.T, file string) (release func()) {
	t.Helper()
	dir := t.TempDir()
	ready, enough := filepath.Join(dir, "ready"), filepath.Join(dir, "enough")
	cmd := exec.Command("tool", "hold", file, ready, enough)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	require.NoError(t, toolUntil([]string{ready}))
	return func() { require.NoError(t, toolMake([]string{enough, "x"})) }
}

func TestWaitingLineOnATerminal(t *testing.T) {
	for _, verb := range []string{"lock", "edit"} {
		t.Run(verb, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "plan")
			holder(t, file)
			c := onTerminal(t, 500, "holdfast", verb, "--wait", "1h", file, "--", "tool", "exit", "0")
			c.untilShown(`— \d+s of 1h0m0s, Ctrl-C stops.*— \d+s of 1h0m0s, Ctrl-C stops`)
			c.press(ctrlC)
			assert.Equal(t, "SIGINT", c.ends())
			shown := c.shown()
			assert.NotContains(t, shown, "\n", "one line, rewritten, and cleared")
			assert.Regexp(t, `^(\rholdfast: waiting for \S+, locked by PID \d+ \(.*\) for \d+s — \d+s of 1h0m0s, Ctrl-C stops\x1b\[K)+(\^C)?\r\x1b\[K$`, shown)
		})
	}
}

// TestWaitingLineIsGoneBeforeCommand: what CMD says does not share its line.
func TestWaitingLineIsGoneBeforeCommand(t *testing.T) {
	for _, verb := range []string{"lock", "edit"} {
		t.Run(verb, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "plan")
			require.NoError(t, os.WriteFile(file, []byte("old"), 0o666))
			release := holder(t, file)
			c := onTerminal(t, 500, "holdfast", verb, "--wait", "1h", file, "--", "sh", "-c", "echo heard >&2; echo x >/dev/tty; echo y")
			c.untilShown(`— \d+s of`)
			release()
			assert.Equal(t, "0", c.ends())
			assert.Regexp(t, `Ctrl-C stops\x1b\[K\r\x1b\[Kheard\r\nx\r\n(y\r\n)?$`, c.shown())
		})
	}
}

func TestWaitingLineFitsTheTerminal(t *testing.T) {
	file := filepath.Join(t.TempDir(), "plan")
	holder(t, file)
	const columns = 40
	c := onTerminal(t, columns, "holdfast", "lock", "--wait", "1h", file, "--", "tool", "exit", "0")
	c.untilShown(`\x1b\[K`)
	c.press(ctrlC)
	assert.Equal(t, "SIGINT", c.ends())
	line, _, _ := strings.Cut(c.shown(), "\x1b[K")
	assert.Equal(t, columns-1, utf8.RuneCountInString(strings.TrimPrefix(line, "\r")), line)
}

// TestCtrlCReachesCommandOnce: the terminal has sent it to CMD as well.
func TestCtrlCReachesCommandOnce(t *testing.T) {
	dir := t.TempDir()
	file, log := filepath.Join(dir, "plan"), filepath.Join(dir, "log")
	c := onTerminal(t, 80, "holdfast", "lock", file, "--", "tool", "catch", filepath.Join(dir, "ready"), log, "7")
	require.NoError(t, toolUntil([]string{filepath.Join(dir, "ready")}))
	c.press(ctrlC)
	require.NoError(t, toolUntil([]string{log, "^SIGINT\n"}))
	c.press("\x1c") // Ctrl-\
	require.NoError(t, toolUntil([]string{log, "\nSIGQUIT\n"}))
	time.Sleep(50 * time.Millisecond) // a copy that must not come has had its time
	require.NoError(t, c.cmd.Process.Signal(syscall.SIGTERM))
	assert.Equal(t, "7", c.ends())
	text, err := os.ReadFile(log)
	require.NoError(t, err)
	assert.Equal(t, "SIGINT\nSIGQUIT\nSIGTERM\n", string(text))
	assert.NoFileExists(t, file+".lock")
}

// TestSignalWhileInForeground: what no key of the terminal sends is passed on there too.
func TestSignalWhileInForeground(t *testing.T) {
	dir := t.TempDir()
	file, log := filepath.Join(dir, "plan"), filepath.Join(dir, "log")
	c := onTerminal(t, 80, "holdfast", "lock", file, "--", "tool", "catch", filepath.Join(dir, "ready"), log, "7", "SIGHUP")
	require.NoError(t, toolUntil([]string{filepath.Join(dir, "ready")}))
	require.NoError(t, c.cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, toolUntil([]string{log, "^SIGTERM\n"}))
	require.NoError(t, c.cmd.Process.Signal(syscall.SIGHUP))
	assert.Equal(t, "7", c.ends())
}

// TestSignalInBackgroundOfTerminal: only the foreground gets the terminal's keys, so that INT can come from kill alone.
func TestSignalInBackgroundOfTerminal(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	job := "tool ends -pid " + in("pid") + " 7 holdfast lock " + in("plan") + " -- tool catch " + in("ready") + " " + in("log") + " 7"
	c := onTerminal(t, 80, "sh", "-c", "set -m; "+job+" & wait $!; exit $?")
	require.NoError(t, toolUntil([]string{in("ready")}))
	require.NoError(t, toolSignal([]string{"SIGINT", in("pid")}))
	require.NoError(t, toolUntil([]string{in("log"), "^SIGINT\n"}))
	require.NoError(t, toolSignal([]string{"SIGTERM", in("pid")}))
	assert.Equal(t, "0", c.ends(), c.shown())
}

// TestCtrlCEachTime: CMD gets each of many exactly once.
func TestCtrlCEachTime(t *testing.T) {
	const times = 50
	dir := t.TempDir()
	for i := range times {
		in := func(name string) string { return filepath.Join(dir, name+strconv.Itoa(i)) }
		c := onTerminal(t, 80, "holdfast", "lock", in("plan"), "--", "tool", "catch", in("ready"), in("log"), "7")
		require.NoError(t, toolUntil([]string{in("ready")}))
		c.press(ctrlC)
		require.NoError(t, toolUntil([]string{in("log"), "^SIGINT\n"}))
		require.NoError(t, c.cmd.Process.Signal(syscall.SIGTERM))
		require.Equal(t, "7", c.ends(), c.shown())
		text, err := os.ReadFile(in("log"))
		require.NoError(t, err)
		require.Equal(t, "SIGINT\nSIGTERM\n", string(text), "time %d", i)
	}
}

// TestHangUpReachesCommandOnce: the end of the session has sent it to CMD as well; a second one is passed on.
func TestHangUpReachesCommandOnce(t *testing.T) {
	for range 10 {
		dir := t.TempDir()
		in := func(name string) string { return filepath.Join(dir, name) }
		job := "tool ends -pid " + in("pid") + " 7 holdfast lock " + in("plan") + " -- tool catch " + in("ready") + " " + in("log") + " 7"
		c := onTerminal(t, 80, "sh", "-c", job+"; exit $?")
		require.NoError(t, toolUntil([]string{in("ready")}))
		require.NoError(t, c.keys.Close())
		require.NoError(t, toolUntil([]string{in("log"), "SIGHUP\n"}))
		require.NoError(t, toolSignal([]string{"SIGUSR1", in("pid")})) // handled later than what came before
		require.NoError(t, toolUntil([]string{in("log"), "SIGUSR1\n"}))
		assert.Equal(t, 1, strings.Count(content(t, in("log")), "SIGHUP\n"))
		require.NoError(t, toolSignal([]string{"SIGHUP", in("pid")}))
		require.NoError(t, toolUntil([]string{in("log"), "(?s)SIGHUP\n.*SIGHUP\n"}))
		require.NoError(t, toolSignal([]string{"SIGTERM", in("pid")}))
		require.NoError(t, eventually(func() (string, bool) { _, err := os.Lstat(in("plan.lock")); return "", err != nil }))
		assert.Equal(t, "SIGHUP", c.ends())
	}
}

// TestHangUpOfASessionThatWeLead: then only we are told.
func TestHangUpOfASessionThatWeLead(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	c := onTerminal(t, 80, "holdfast", "lock", in("plan"), "--", "tool", "catch", in("ready"), in("log"), "7", "SIGHUP")
	require.NoError(t, toolUntil([]string{in("ready")}))
	require.NoError(t, c.keys.Close())
	assert.Equal(t, "7", c.ends())
}

// TestCtrlCWhileWaiting: what was to become CMD dies of the same key, which is nobody's fault and not worth a line.
func TestCtrlCWhileWaiting(t *testing.T) {
	file := filepath.Join(t.TempDir(), "plan")
	holder(t, file)
	for range 10 {
		c := onTerminal(t, 500, "holdfast", "lock", "-q", "--wait", "1h", file, "--", "tool", "exit", "0")
		require.NoError(t, eventually(func() (string, bool) { return "", len(childrenOf(t, c.cmd.Process.Pid)) == 1 }))
		c.press(ctrlC)
		assert.Equal(t, "SIGINT", c.ends())
		assert.Regexp(t, `^(\^C)?$`, c.shown())
	}
}

// TestSuspended: Ctrl-Z stops us and CMD together; the lock stays held, and the shell can have both go on.
func TestSuspended(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	script := "set -m; holdfast lock " + in("plan") + " -- tool then make " + in("ready") + " x , until " + in("go") + " , exit 7; echo stopped=$?; " +
		"holdfast lock -n " + in("plan") + " -- tool exit 0; echo busy=$?; tool make " + in("go") + " x; fg; echo ended=$?"
	c := onTerminal(t, 500, "sh", "-c", script)
	require.NoError(t, toolUntil([]string{in("ready")}))
	c.press("\x1a")
	assert.Equal(t, "0", c.ends(), c.shown())
	assert.Regexp(t, `(?s)stopped=148\r\n.*is held by PID \d+ \(tool.*busy=75\r\n.*ended=7\r\n$`, c.shown())
	assert.NoFileExists(t, in("plan.lock"))
}

// TestKillAfterOnATerminal: the clock starts with the terminal's own signal too.
func TestKillAfterOnATerminal(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	c := onTerminal(t, 500, "holdfast", "lock", "--kill-after", "50ms", in("plan"), "--", "tool", "catch", in("ready"), in("log"), "7")
	require.NoError(t, toolUntil([]string{in("ready")}))
	c.press(ctrlC)
	assert.Equal(t, "SIGKILL", c.ends())
	assert.Contains(t, c.shown(), "the command goes on 50ms after SIGINT: it is killed")
}

// TestRunOnATerminal: CMD has the terminal.
func TestRunOnATerminal(t *testing.T) {
	dir := t.TempDir()
	c := onTerminal(t, 500, "holdfast", "run", dir, "--", "sh", "-c", "test -t 0 && test -t 1 && test -t 2 && read line && echo got $line")
	c.press("typed\n")
	assert.Equal(t, "0", c.ends())
	assert.Contains(t, c.shown(), "got typed")
}

// TestCapturedRunHasNoTerminal: what would ask there fails at once, and is not stopped for ever.
func TestCapturedRunHasNoTerminal(t *testing.T) {
	script := "read line </dev/tty || echo nobody asked; echo tried >/dev/tty || echo nobody told"
	c := onTerminal(t, 500, "holdfast", "run", "--captured", t.TempDir(), "--", "sh", "-c", script)
	assert.Equal(t, "0", c.ends())
	assert.Regexp(t, `(?s)nobody asked.*nobody told`, c.shown())
}

// TestRunShowsProgress: time and the last line, below the output, and nothing of it in the end.
func TestRunShowsProgress(t *testing.T) {
	dir := t.TempDir()
	script := "echo first; echo '\x1b[31mred' >&2; tool until go; printf half; tool until more; echo"
	c := onTerminal(t, 60, "holdfast", "run", "--captured", dir, "--", "sh", "-c", script)
	c.untilShown(`\rholdfast: sh, \d+s — .*\x1b\[K`)
	c.untilShown(`first\r\n`)
	c.untilShown(`\rholdfast: sh, [1-9]\d*s — .*\x1b\[K`)
	for line := range strings.SplitSeq(c.shown(), "\r") {
		if strings.HasPrefix(line, "holdfast: ") {
			assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimSuffix(line, "\x1b[K")), 59, line)
		}
	}
	require.NoError(t, toolMake([]string{filepath.Join(dir, "go"), "x"}))
	c.untilShown(`half`)
	require.NoError(t, toolMake([]string{filepath.Join(dir, "more"), "x"}))
	assert.Equal(t, "0", c.ends())
	assert.Contains(t, c.shown(), "half\r\n", "a line of CMD's is not torn")
	last := c.shown()[strings.LastIndex(c.shown(), "holdfast: "):]
	assert.Regexp(t, `^[^\r]*\x1b\[K\r\x1b\[K`, last, "cleared")
}

// TestRunProgressNotElsewhere: -q and a standard error that is no terminal keep it back.
func TestRunProgressNotElsewhere(t *testing.T) {
	for _, script := range []string{
		"holdfast run -q --captured %s -- sh -c 'echo out; tool until go'",
		"holdfast run --captured %s -- sh -c 'echo out; tool until go' 2>/dev/null",
	} {
		dir := t.TempDir()
		c := onTerminal(t, 60, "sh", "-c", strings.ReplaceAll(script, "%s", dir))
		c.untilShown(`out`)
		require.NoError(t, toolMake([]string{filepath.Join(dir, "go"), "x"}))
		assert.Equal(t, "0", c.ends())
		assert.Equal(t, "out\r\n", c.shown())
	}
}

// TestCtrlCEndsARun: the tree, then the files are as before, then we end by it.
func TestCtrlCEndsARun(t *testing.T) {
	for _, streams := range []string{"--attached", "--captured"} {
		dir := t.TempDir()
		manifest := filepath.Join(dir, "package.json")
		require.NoError(t, os.WriteFile(manifest, []byte("old"), 0o666))
		c := onTerminal(t, 500, "holdfast", "run", streams, dir, "--", "sh", "-c", "echo new >package.json; tool make ready x; tool until never")
		require.NoError(t, toolUntil([]string{filepath.Join(dir, "ready")}))
		c.press(ctrlC)
		assert.Equal(t, "SIGINT", c.ends(), c.shown())
		text, err := os.ReadFile(manifest)
		require.NoError(t, err)
		assert.Equal(t, "old", string(text))
		assert.NoFileExists(t, manifest+".lock")
		// With the terminal, sh dies of the key before we do anything about it, or not.
		assert.Regexp(t, `holdfast: (\S+: sh \(PID \d+\) was ended before it was done: |sh was ended by SIGINT; restored package.json)`, c.shown(), streams)
	}
}
