package locktest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/holdfast-go/holdfast/filelock"
)

// orderEnv tells the test binary, started again by a check, what to do.
const orderEnv = "HOLDFAST_LOCKTEST"

type order struct {
	Kind, Task string
	Setting    struct{ Dir, Name string }
}

// tasks are what a process of a check's does. What it prints tells the check how far it is.
var tasks = map[string]func(l filelock.Locker, dir string) error{
	"hold":  holdUntilTold,
	"drop":  dropUntilTold,
	"count": count,
}

func obey(kinds []Kind, text string) (exitCode int) {
	if err := do(kinds, text); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func do(kinds []Kind, text string) error {
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return err
	}
	for _, k := range kinds {
		if k.Name == o.Kind {
			l := k.New(Setting{Dir: o.Setting.Dir, Name: o.Setting.Name, Wait: filelock.Forever})
			return tasks[o.Task](l, o.Setting.Dir)
		}
	}
	return fmt.Errorf("locktest.Main was not given the kind %q", o.Kind)
}

func holdUntilTold(l filelock.Locker, _ string) error {
	lease, err := l.Acquire(context.Background())
	if err != nil {
		return err
	}
	fmt.Println("held")
	io.Copy(io.Discard, os.Stdin)
	return lease.Release()
}

// dropUntilTold keeps no lease: the lock is the process's.
func dropUntilTold(l filelock.Locker, _ string) error {
	if _, err := l.Acquire(context.Background()); err != nil {
		return err
	}
	for range 3 {
		runtime.GC()
	}
	fmt.Println("held")
	io.Copy(io.Discard, os.Stdin)
	return nil
}

const (
	counting  = 3  // processes
	countEach = 50 // times
	countFile = "count"
)

// count adds to a number in a file that nothing but the lock protects, once all who count are there.
func count(l filelock.Locker, dir string) error {
	path := filepath.Join(dir, countFile)
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin)
	for range countEach {
		err := filelock.Do(context.Background(), l, func(context.Context, filelock.Lease) error {
			n, err := counted(dir)
			if err != nil {
				return err
			}
			inside, err := os.OpenFile(path+".inside", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
			if err != nil {
				return fmt.Errorf("two at once: %w", err)
			}
			inside.Close()
			if err := os.WriteFile(path, strconv.AppendInt(nil, int64(n)+1, 10), 0o600); err != nil {
				return err
			}
			return os.Remove(path + ".inside")
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func counted(dir string) (int, error) {
	content, err := os.ReadFile(filepath.Join(dir, countFile))
	if os.IsNotExist(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(content))
}

// child is a process that does a task with the trial's lock. It ends with the trial at the latest.
type child struct {
	t   *trial
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	err *strings.Builder
}

func (t *trial) start(task string) *child {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o := order{Kind: t.kind.Name, Task: task}
	o.Setting.Dir, o.Setting.Name = t.setting.Dir, t.setting.Name
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "-test.run=^$") // no test, should nobody call Main
	cmd.Env = append(os.Environ(), orderEnv+"="+string(text))
	c := &child{t: t, cmd: cmd, err: &strings.Builder{}}
	cmd.Stderr = c.err
	if c.in, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.out = bufio.NewReader(out)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.kill)
	return c
}

// says waits until the process says that it is so far.
func (c *child) says(want string) {
	c.t.Helper()
	var line string
	c.t.within("another process", func() { line, _ = c.out.ReadString('\n') })
	if strings.TrimSpace(line) != want {
		c.kill()
		c.t.Fatalf("another process was to say %q and said %q %s: does TestMain call locktest.Main?", want, line, c.err)
	}
}

// kill ends the process as kill -9 does.
func (c *child) kill() {
	c.cmd.Process.Kill()
	c.cmd.Wait()
}

// end lets the process finish.
func (c *child) end() {
	c.t.Helper()
	c.in.Close()
	var err error
	c.t.within("the end of the other process", func() { err = c.cmd.Wait() })
	if err != nil {
		c.t.Fatalf("the other process: %v: %s", err, c.err)
	}
}
