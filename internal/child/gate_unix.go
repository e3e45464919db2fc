//go:build unix

package child

import (
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/holdfast-go/holdfast/internal/sys"
)

// stubName is what a stub is called by: its first argument.
const stubName = "holdfast-stub"

// A stub's arguments: its name, the descriptor it waits at, the program's file, and the program's own arguments.
const (
	stubGate = 1 + iota
	stubPath
	stubArgs
)

// hasGate reports whether this program, started again, would become a stub.
var hasGate atomic.Bool

// Gate makes this process the stub it was started as, if it was: it waits, then becomes the program, and does not return.
// In every other process it returns at once.
func Gate() {
	hasGate.Store(true)
	if len(os.Args) == 0 || os.Args[0] != stubName {
		return
	}
	os.Exit(stub(os.Args))
}

// notRun is a stub's exit code when its program did not run.
const notRun = 127

func stub(args []string) int {
	if len(args) <= stubArgs {
		return notRun
	}
	fd, err := strconv.Atoi(args[stubGate])
	if err != nil {
		return notRun
	}
	syscall.CloseOnExec(fd)
	becomeProgram := dieQuietly()
	gate := os.NewFile(uintptr(fd), "gate")
	var word [1]byte
	if _, err := io.ReadFull(gate, word[:]); err != nil { // whoever started us is gone
		return notRun
	}
	becomeProgram()
	err = syscall.Exec(args[stubPath], args[stubArgs:], environment())
	var errno syscall.Errno
	if errors.As(err, &errno) {
		_ = binary.Write(gate, binary.BigEndian, uint32(errno))
	}
	return notRun
}

// dieQuietly has this process end by the signals for which a Go program prints its stacks, as the program in its place would
// end: by the signal, and without a word. The program that is then executed gets those that come later.
func dieQuietly() (stop func()) {
	arriving := make(chan os.Signal, 1)
	signal.Notify(arriving, syscall.SIGQUIT, syscall.SIGABRT, syscall.SIGTRAP, syscall.SIGSYS)
	over := make(chan struct{})
	var dying sync.WaitGroup
	dying.Go(func() {
		select {
		case sig := <-arriving:
			sys.DieBy(sig.(syscall.Signal))
		case <-over:
		}
	})
	return func() {
		signal.Stop(arriving)
		close(over)
		dying.Wait()
		select {
		case sig := <-arriving:
			sys.DieBy(sig.(syscall.Signal))
		default:
		}
	}
}

// gate is our end of the line to a stub.
type gate struct{ line *os.File }

func (g gate) close() { g.line.Close() }

// open says go, and returns how that went: the line ends without an answer when the program runs. What a stub has not read when it
// ends resets the line.
func (g gate) open() error {
	defer g.line.Close()
	if _, err := g.line.Write([]byte{'\n'}); err != nil {
		return err
	}
	var errno uint32
	switch err := binary.Read(g.line, binary.BigEndian, &errno); {
	case err == nil:
		return syscall.Errno(errno)
	case err == io.EOF:
		return nil
	case errors.Is(err, syscall.ECONNRESET):
		return errEnded
	default:
		return err
	}
}

// Start starts the stub of a program.
//
// One that leads a group leads a session too: a mere group of ours would be in the background of our terminal, and what
// opens /dev/tty there, as for a password, is stopped for ever. In a session of its own it has no terminal: opening /dev/tty
// fails, ps shows none, the shell's job control does not stop it together with us, and neither the terminal's keys nor its
// hang-up signal it: whoever ends us has to see to it that we end it. Its group cannot be changed. A program that opens a
// terminal by another name without O_NOCTTY makes that its own.
func Start(s Spec) (*Child, error) {
	s, err := s.completed()
	if err != nil {
		return nil, err
	}
	ours, theirs, err := pair()
	if err != nil {
		return nil, err
	}
	defer syscall.Close(theirs)
	pid, err := s.fork(theirs)
	if err != nil {
		syscall.Close(ours)
		return nil, err
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		syscall.Close(ours)
		return nil, err
	}
	return &Child{process, gate{os.NewFile(uintptr(ours), "gate")}}, nil
}

// StartUngated starts a program at once, without a gate.
func StartUngated(s Spec) (*os.Process, error) {
	s, err := s.completed()
	if err != nil {
		return nil, err
	}
	return os.StartProcess(s.Path, s.Args, &os.ProcAttr{
		Dir: s.Dir, Env: s.Env, Files: s.Files[:], Sys: &syscall.SysProcAttr{Setsid: s.Group},
	})
}

// pair makes the two ends of a line; ours can be waited for without a thread.
func pair() (ours, theirs int, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return 0, 0, os.NewSyscallError("socketpair", err)
	}
	syscall.CloseOnExec(ends[0])
	syscall.CloseOnExec(ends[1])
	return ends[0], ends[1], syscall.SetNonblock(ends[0], true)
}

// closed is the descriptor that a new process does not get.
const closed = ^uintptr(0)

// fork starts the stub. Descriptors that this process was given by its own parent go on to the program, as if it had been
// started by that parent; the stub's line has the first number that none of them has.
func (s Spec) fork(line int) (pid int, err error) {
	files := inherited(len(s.Files))
	for i, f := range s.Files {
		files[i] = f.Fd()
	}
	at := len(s.Files)
	for at < len(files) && files[at] != closed {
		at++
	}
	if at == len(files) {
		files = append(files, closed)
	}
	files[at] = uintptr(line)
	path, args, env, err := s.stub(at)
	if err != nil {
		return 0, err
	}
	pid, err = syscall.ForkExec(path, args, &syscall.ProcAttr{
		Dir: s.Dir, Env: env, Files: files, Sys: &syscall.SysProcAttr{Setsid: s.Group},
	})
	runtime.KeepAlive(s.Files)
	if err != nil {
		return 0, &fs.PathError{Op: "fork/exec", Path: path, Err: err}
	}
	return pid, nil
}

// mostInherited bounds the search for inherited descriptors. Those with higher numbers go on too, unless fork happens to
// use the number for itself.
const mostInherited = 256

// inherited are the descriptors from a number on that are open and stay open in programs that are executed, as none of
// our own does: each at its own index, up to the last. A number that is not in the list could be taken by fork, even if it
// is open.
func inherited(from int) []uintptr {
	syscall.ForkLock.Lock() // nobody has a new descriptor yet that is still to be marked
	defer syscall.ForkLock.Unlock()
	files := make([]uintptr, from)
	for fd := from; fd < mostInherited; fd++ {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err != nil || flags&unix.FD_CLOEXEC != 0 {
			continue
		}
		for len(files) < fd {
			files = append(files, closed)
		}
		files = append(files, uintptr(fd))
	}
	return files
}

// stub is the command line and the environment of the stub for s that waits at descriptor at.
func (s Spec) stub(at int) (path string, args, env []string, err error) {
	if self, err := executable(); err == nil && hasGate.Load() {
		return self, append([]string{stubName, strconv.Itoa(at), s.Path}, s.Args...), s.Env, nil
	}
	args, env, err = shellStub(at, s.Path, s.Args, s.Env)
	return shell, args, env, err
}
