package sys

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// interruptible are the system calls behind dir and file; each is interrupted before it has its effect, and goes through when
// it is repeated.
var interruptible = []string{
	"openat", "fstat", "newfstatat", "fchmod", "fchmodat", "fchown", "fsetxattr", "fgetxattr", "flock", "utimensat", "fstatfs",
	"pread64", "pwrite64", "ftruncate", "fsync", "linkat", "renameat", "renameat2", "unlinkat", "mkdirat", "inotify_add_watch",
}

const interruptedEnv = "HOLDFAST_TEST_INTERRUPTED"

func TestInterrupted(t *testing.T) {
	if dir := os.Getenv(interruptedEnv); dir != "" {
		_, err := bufio.NewReader(os.Stdin).ReadString('\n')
		require.NoError(t, err)
		everyCall(t, dir)
		return
	}
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("needs strace")
	}
	log := filepath.Join(t.TempDir(), "log")
	c := exec.Command(os.Args[0], "-test.run=^TestInterrupted$")
	c.Env = append(os.Environ(), interruptedEnv+"="+t.TempDir())
	begin, err := c.StdinPipe()
	require.NoError(t, err)
	var out strings.Builder
	c.Stdout, c.Stderr = &out, &out
	require.NoError(t, c.Start())
	defer c.Process.Kill()

	calls := strings.Join(interruptible, ",")
	tracer := exec.Command("strace", "-f", "-o", log, "-p", strconv.Itoa(c.Process.Pid),
		"-e", "trace="+calls, "-e", "inject="+calls+":error=EINTR:when=1+2")
	says, err := tracer.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, tracer.Start())
	line, _ := bufio.NewReader(says).ReadString('\n')
	if !strings.Contains(line, "attached") {
		tracer.Wait()
		t.Skipf("cannot trace here: %s", line)
	}
	_, err = begin.Write([]byte("\n"))
	require.NoError(t, err)
	assert.NoError(t, c.Wait(), &out)
	require.NoError(t, tracer.Wait())

	text, err := os.ReadFile(log)
	require.NoError(t, err)
	interrupted := map[string]bool{}
	// 4242 fstat(3, … (INJECTED), or 4242 <... fstat resumed>… (INJECTED)
	for _, match := range regexp.MustCompile(`(?m)^\d+ +(?:<\.\.\. )?(\w+).*\(INJECTED\)$`).FindAllSubmatch(text, -1) {
		interrupted[string(match[1])] = true
	}
	same := map[string]string{"fstat": "newfstatat", "renameat": "renameat2"} // on some architectures
	for _, call := range interruptible {
		assert.True(t, interrupted[call] || interrupted[same[call]], "%s was not interrupted", call)
	}
}

// everyCall makes each call of a directory and its files.
func everyCall(t *testing.T, where string) {
	runtime.LockOSThread() // a tracer counts calls by thread
	must := func(err error) {
		t.Helper()
		require.NoError(t, err)
	}
	d, err := OpenDir(where)
	must(err)
	_, err = d.ID()
	must(err)
	_, err = d.Stat()
	must(err)
	f, err := d.CreateUnnamed(0o600)
	must(err)
	must(f.Chmod(0o640))
	must(f.TryLock(true))
	if err := f.SetAttribute("user.holdfast", []byte("x")); !IsKind(err, Unsupported) {
		must(err)
	}
	_, err = f.WriteAt([]byte("content"), 0)
	must(err)
	must(f.Truncate(3))
	must(f.Touch())
	must(f.Sync())
	f.Local()
	must(d.LinkUnnamed(f, "a"))
	must(f.Unlock())
	must(f.SetGroup(uint32(os.Getgid())))
	must(f.Close())

	info, err := d.Lstat("a")
	must(err)
	_, err = Lstat(filepath.Join(where, "a"))
	must(err)
	f, err = d.Open("a")
	must(err)
	again, err := f.Stat()
	must(err)
	assert.Equal(t, info.ID, again.ID)
	var buf [8]byte
	n, err := f.ReadAt(buf[:], 0)
	must(err)
	assert.Equal(t, "con", string(buf[:n]))
	if _, err = f.Attribute("user.holdfast", buf[:]); !IsKind(err, Unsupported, NoAttribute) {
		must(err)
	}
	stop, err := d.Watch("a", func() {})
	must(err)
	stop()
	must(f.Close())

	must(d.Link("a", "b"))
	if err := d.MoveNew(nil, "b", "c"); !errors.Is(err, unix.EINVAL) {
		must(err)
		must(d.Replace(nil, "c", "b"))
	}
	must(d.SetMode("b", 0o600))
	must(d.MakeDir("d", 0o700))
	must(d.Remove("b", nil))
	must(d.Sync())
	must(d.Close())
}
