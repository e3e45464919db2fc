package child

import (
	"os"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Gate does nothing here: a program is created suspended, with the number it keeps.
func Gate() {}

// gate is the job of a process that is created suspended. The job ends it if we die before it runs.
type gate struct {
	process *os.Process
	job     atomic.Uintptr // 0: closed
}

var resumeProcess = windows.NewLazySystemDLL("ntdll.dll").NewProc("NtResumeProcess")

// open lets the process run. It is protected from our death only afterwards: killed once more is better than suspended for
// ever. After an error nothing of it runs any more.
func (g *gate) open() error {
	err := withHandle(g.process, func(h windows.Handle) error {
		if r, _, _ := resumeProcess.Call(uintptr(h)); uint32(r) != 0 { // the rest of the register says nothing
			return windows.NTStatus(r)
		}
		return nil
	})
	if err != nil {
		return os.NewSyscallError("NtResumeProcess", err)
	}
	if err := setKillOnClose(windows.Handle(g.job.Load()), false); err != nil {
		g.end()
		return err
	}
	return nil
}

// end ends all processes of the job, and returns when they have ended: being told to is not that yet. If the system does not
// say whether they have, it is asked for five seconds.
func (g *gate) end() {
	const pause, unanswered = 5 * time.Millisecond, 1000
	for failed := 0; failed < unanswered; time.Sleep(pause) {
		_ = windows.TerminateJobObject(windows.Handle(g.job.Load()), 1)
		running, err := g.processes()
		switch {
		case err != nil:
			failed++
		case len(running) == 0:
			return
		}
	}
}

func (g *gate) close() {
	if job := g.job.Swap(0); job != 0 {
		windows.CloseHandle(windows.Handle(job))
	}
}

func withHandle(p *os.Process, f func(windows.Handle) error) (err error) {
	if outer := p.WithHandle(func(h uintptr) { err = f(windows.Handle(h)) }); outer != nil {
		return outer
	}
	return err
}

func setKillOnClose(job windows.Handle, kill bool) error {
	var limits windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	if kill {
		limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	}
	var pinned runtime.Pinner // as in processes
	pinned.Pin(&limits)
	defer pinned.Unpin()
	_, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	return os.NewSyscallError("SetInformationJobObject", err)
}

// Start creates a suspended process in a job of its own. A batch file is started through the command interpreter. If we die
// between these two, the process stays suspended.
func Start(s Spec) (*Child, error) {
	s, err := s.completed()
	if err != nil {
		return nil, err
	}
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, os.NewSyscallError("CreateJobObject", err)
	}
	if err := setKillOnClose(job, true); err != nil {
		windows.CloseHandle(job)
		return nil, err
	}
	process, err := s.create(windows.CREATE_SUSPENDED)
	if err != nil {
		windows.CloseHandle(job)
		return nil, err
	}
	c := &Child{process: process}
	c.gate.process = process
	c.gate.job.Store(uintptr(job))
	err = withHandle(process, func(h windows.Handle) error { return windows.AssignProcessToJobObject(job, h) })
	if err != nil {
		c.Abandon()
		return nil, os.NewSyscallError("AssignProcessToJobObject", err)
	}
	return c, nil
}

// StartUngated starts a program at once, without a gate. A batch file is started through the command interpreter.
func StartUngated(s Spec) (*os.Process, error) {
	s, err := s.completed()
	if err != nil {
		return nil, err
	}
	return s.create(0)
}

func (s Spec) create(flags uint32) (*os.Process, error) {
	attr := &syscall.SysProcAttr{CreationFlags: flags}
	if s.Group {
		attr.CreationFlags |= windows.CREATE_NEW_PROCESS_GROUP
	}
	system, err := windows.GetSystemDirectory()
	if err != nil {
		return nil, os.NewSyscallError("GetSystemDirectory", err)
	}
	var path string
	if path, attr.CmdLine, err = batch(s.Path, s.Args, system+`\cmd.exe`); err != nil {
		return nil, err
	}
	return os.StartProcess(path, s.Args, &os.ProcAttr{Dir: s.Dir, Env: s.Env, Files: s.Files[:], Sys: attr})
}

// Environ is the environment of this process.
func Environ() []string { return os.Environ() }

// waitUnreaped returns when the process has ended: its number means it as long as we have its handle.
func waitUnreaped(p *os.Process) error {
	return withHandle(p, func(h windows.Handle) error {
		_, err := windows.WaitForSingleObject(h, windows.INFINITE)
		return os.NewSyscallError("WaitForSingleObject", err)
	})
}
