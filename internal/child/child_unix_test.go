//go:build unix

package child

import (
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/holdfast-go/holdfast/internal/sys"
)

func init() {
	programs["program:through"] = programThrough
	programs["program:die"] = programDie
}

// ownGate names the gate that is this binary. Others are called by the shell's path.
const ownGate = "self"

func gates() []string {
	found := []string{ownGate}
	for _, sh := range []string{"sh", "dash", "bash", "busybox", "ksh", "mksh", "yash", "zsh"} {
		if path := "/bin/" + sh; sh == "sh" || exec.Command(path, "-c", ":").Run() == nil {
			found = append(found, path)
		}
	}
	return found
}

func useGate(name string) (restore func()) {
	had, before := hasGate.Load(), shell
	hasGate.Store(name == ownGate)
	shell = name
	return func() {
		hasGate.Store(had)
		shell = before
	}
}

func (r *report) see() {
	r.Env = environment()
	r.Group, _ = unix.Getpgid(0)
	r.Session, _ = unix.Getsid(0)
	for fd := range 1024 {
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			r.Files = append(r.Files, fd)
		}
	}
}

func detach(cmd *exec.Cmd, how string) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	switch how {
	case "group":
		cmd.SysProcAttr.Setpgid = true
	case "session":
		cmd.SysProcAttr.Setsid = true
	}
}

// reapOrphan reaps a process that its parent left to us, if we are the one whom orphans come to.
func reapOrphan(pid int) { syscall.Wait4(pid, nil, 0, nil) }

// programThrough GATE PATH ARGS... runs a program behind the gate, with our own streams, and one for both outputs: for that,
// fork needs one more descriptor for a while.
func programThrough(args []string) int {
	useGate(args[0])
	c, err := Start(Spec{
		Path: args[1], Args: args[1:], Env: os.Environ(), Files: [3]*os.File{os.Stdin, os.Stdout, os.Stdout},
	})
	if err == nil {
		err = c.Open()
	}
	if err != nil {
		os.Stderr.WriteString(err.Error())
		return 1
	}
	end, _ := c.Reap()
	return end.ExitCode()
}

func programDie([]string) int {
	syscall.Kill(os.Getpid(), syscall.SIGKILL)
	return 0
}

func TestName(t *testing.T) {
	restore := useGate(ownGate)
	defer restore()
	files, out := streams(t)
	c := start(t, Spec{Path: "/bin/sh", Args: []string{"other name", "-c", `echo "$0"`}, Files: files})
	require.NoError(t, c.Open())
	assert.Equal(t, "other name", out.rest())
}

func TestNoArguments(t *testing.T) {
	eachGate(t, func(t *testing.T) {
		files, _ := streams(t)
		c := start(t, Spec{Path: "/bin/echo", Files: files})
		require.NoError(t, c.Open())
		end, err := c.Reap()
		require.NoError(t, err)
		assert.True(t, end.Success(), end.String())
	})
}

func TestStubWithoutProgram(t *testing.T) {
	for _, args := range [][]string{{stubName}, {stubName, "3"}, {stubName, "3", "/bin/echo"}, {stubName, "x", "/bin/echo", "echo"}} {
		stub := &exec.Cmd{Path: self(t), Args: args}
		out, _ := stub.CombinedOutput()
		assert.Empty(t, out)
		assert.Equal(t, notRun, stub.ProcessState.ExitCode(), args)
	}
}

func TestEnvironment(t *testing.T) {
	for name, env := range map[string][]string{
		"names no shell has": {"-u=2", `npm_config_//host/:_authToken=x y`, "A-B=1", "ä=3", "1=4", "A.B=", "a b=5"},
		"values":             {"LINES_=one\ntwo\n", "EMPTY=", "EQUAL=a=b", "BLANKS=  a  ", "QUOTES='\"`$(x)", "BYTES=\xff\x80"},
		"set by shells":      {"PWD=/nowhere", "OLDPWD=x", "SHLVL=7", "_=/usr/bin/other"},
		"meant for shells": {
			"IFS=ab", "OPTIND=9", "PPID=1", "TMOUT=1", "ENV=/nowhere", "SHELLOPTS=xtrace", "BASH_ENV=/nowhere", "UID=5",
			"POSIXLY_CORRECT=1", "RANDOM=1", "SECONDS=2", "LINENO=3", "line=kept", "PS4=x", "BASH_FUNC_read%%=() { :; }",
		},
		"other names": {"PATH=/nowhere", "HOME=relative", "LANG=C", "sh=x", "NODE_OPTIONS=--no-warnings"},
	} {
		t.Run(name, func(t *testing.T) {
			eachGate(t, func(t *testing.T) {
				files, out := streams(t)
				s := program(t, files, "program:report")
				s.Env = slices.Clone(env)
				r := reported(t, s, out)
				slices.Sort(s.Env)
				slices.Sort(r.Env)
				assert.Equal(t, s.Env, r.Env)
			})
		})
	}
}

func TestNoEnvironment(t *testing.T) {
	eachGate(t, func(t *testing.T) {
		files, out := streams(t)
		s := program(t, files, "program:report")
		s.Env = nil
		assert.Empty(t, reported(t, s, out).Env)
	})
}

func TestEnvironmentThatNoShellCarries(t *testing.T) {
	for _, v := range []string{"", "=x", "name"} {
		files, _ := streams(t)
		s := program(t, files, "program:report")
		s.Env = []string{"A=1", v}
		restore := useGate("/bin/sh")
		_, err := Start(s)
		restore()
		require.ErrorContains(t, err, "has no name")
	}
}

func TestShellSeesNoMoreThanItMust(t *testing.T) {
	args, env, err := shellStub(4, "/p", []string{"p"}, []string{"SECRET=s", "A-B=1", "TMOUT=1"})
	require.NoError(t, err)
	assert.Equal(t, []string{"SECRET=s"}, env, "not on a command line")
	assert.NotContains(t, strings.Join(args, " "), "SECRET")

	_, _, err = shellStub(10, "/p", []string{"p"}, nil)
	require.Error(t, err)
	_, _, err = shellStub(4, "/a=b/p", []string{"p"}, nil)
	require.Error(t, err)
}

func TestRelativePath(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"-n", "sh", "a b"} {
		require.NoError(t, os.Symlink("/bin/echo", filepath.Join(dir, name)))
		eachGate(t, func(t *testing.T) {
			files, out := streams(t)
			c := start(t, Spec{Path: name, Args: []string{name, "arg"}, Dir: dir, Files: files, Env: []string{"PATH=/bin"}})
			require.NoError(t, c.Open())
			assert.Equal(t, "arg", out.rest())
		})
	}
}

func script(t *testing.T, path, content string, mode fs.FileMode) string {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(content), mode))
	return path
}

func TestProgramThatCannotRun(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		name, path string
		want       error
		code       int // the shell's
	}{
		{"missing", filepath.Join(dir, "missing"), syscall.ENOENT, 127},
		{"not executable", script(t, filepath.Join(dir, "plain"), "#!/bin/sh\n", 0o644), syscall.EACCES, 126},
		{"directory", dir, syscall.EACCES, 126},
		{"no interpreter named", script(t, filepath.Join(dir, "text"), "exit 5\n", 0o755), syscall.ENOEXEC, 5},
		{"missing interpreter", script(t, filepath.Join(dir, "lost"), "#!/missing/sh\n", 0o755), syscall.ENOENT, 127},
		{"below a file", filepath.Join(dir, "plain", "x"), syscall.ENOTDIR, 126},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.ErrorIs(t, exec.Command(c.path).Run(), c.want)
			eachGate(t, func(t *testing.T) {
				files, _ := streams(t)
				var err error
				files[2], err = os.OpenFile(os.DevNull, os.O_WRONLY, 0)
				require.NoError(t, err)
				defer files[2].Close()
				child := start(t, Spec{Path: c.path, Files: files})
				if hasGate.Load() {
					require.ErrorIs(t, child.Open(), c.want)
					assert.Equal(t, sys.Absent, sys.Probe(child.PID()).Presence, "it is reaped")
					return
				}
				require.NoError(t, child.Open())
				end, err := child.Reap()
				require.NoError(t, err)
				assert.Equal(t, c.code, end.ExitCode())
			})
		})
	}
}

func TestKilledProgram(t *testing.T) {
	eachGate(t, func(t *testing.T) {
		files, _ := streams(t)
		c := start(t, program(t, files, "program:die"))
		require.NoError(t, c.Open())
		require.NoError(t, c.Wait())
		end, err := c.Reap()
		require.NoError(t, err)
		assert.Equal(t, syscall.SIGKILL, end.Sys().(syscall.WaitStatus).Signal())
	})
}

func TestGroup(t *testing.T) {
	eachGate(t, func(t *testing.T) {
		for _, group := range []bool{false, true} {
			files, out := streams(t)
			s := program(t, files, "program:report")
			s.Group = group
			r := reported(t, s, out)
			want, err := unix.Getpgid(0)
			require.NoError(t, err)
			if group {
				want = r.PID
			}
			assert.Equal(t, want, r.Group)
			assert.Equal(t, group, r.Session == r.PID)
		}
	})
}

func TestDescriptors(t *testing.T) {
	for _, fd := range inherited(3)[3:] { // what we were given ourselves
		if fd != closed {
			syscall.CloseOnExec(int(fd))
		}
	}
	for name, given := range map[string][]int{
		"none":         nil,
		"the first":    {3},
		"with a gap":   {3, 9},
		"not first":    {4, 5, 7, 63},
		"beyond ours":  {30, 255},
		"all but nine": {3, 4, 5, 6, 7, 8},
		// numbers that fork would take next, whatever the Go runtime has open itself
		"after two":  {5, 6, 7, 8, 9, 10, 11, 12},
		"after four": {7, 8, 9, 10, 11, 12},
	} {
		t.Run(name, func(t *testing.T) {
			for _, gate := range gates() {
				dir := t.TempDir()
				files, out := streams(t)
				cmd := exec.Command(self(t), "program:through", gate, self(t), "program:contents")
				cmd.Stdin, cmd.Stdout, cmd.Stderr = files[0], files[1], files[1]
				want := []string{"0", "1", "2"}
				for _, fd := range given {
					for len(cmd.ExtraFiles) < fd-3 {
						cmd.ExtraFiles = append(cmd.ExtraFiles, nil)
					}
					f, err := os.Create(filepath.Join(dir, strconv.Itoa(fd)))
					require.NoError(t, err)
					defer f.Close()
					_, err = f.WriteString("content of " + strconv.Itoa(fd))
					require.NoError(t, err)
					cmd.ExtraFiles = append(cmd.ExtraFiles, f)
					want = append(want, strconv.Itoa(fd)+"=content of "+strconv.Itoa(fd))
				}
				require.NoError(t, cmd.Run())
				files[1].Close()
				assert.Equal(t, want, strings.Split(out.rest(), "\n"), gate)
			}
		})
	}
}

func init() { programs["program:contents"] = programContents }

// programContents prints the descriptors that it was given, and what is in the files.
func programContents([]string) int {
	var r report
	r.see()
	for _, fd := range r.Files {
		line := strconv.Itoa(fd)
		if content := make([]byte, 100); fd > 2 {
			n, _ := syscall.Pread(fd, content, 0)
			line += "=" + string(content[:max(n, 0)])
		}
		os.Stdout.WriteString(line + "\n")
	}
	return 0
}

func TestNoDescriptorForTheShell(t *testing.T) {
	cmd := exec.Command(self(t), "program:through", "/bin/sh", "/bin/echo")
	for range 7 {
		cmd.ExtraFiles = append(cmd.ExtraFiles, os.Stderr)
	}
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	assert.Equal(t, "no descriptor from 3 to 9 is free for the gate", string(out))
}

func TestIgnoredHangup(t *testing.T) {
	signal.Ignore(syscall.SIGHUP)
	defer signal.Reset(syscall.SIGHUP)
	eachGate(t, func(t *testing.T) {
		files, out := streams(t)
		c := start(t, Spec{Path: "/bin/sh", Args: []string{"sh", "-c", "kill -HUP $$; echo lives"}, Files: files})
		require.NoError(t, c.Open())
		assert.Equal(t, "lives", out.rest())
	})
}
