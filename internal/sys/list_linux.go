package sys

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Processes lists the live processes that /proc shows, without those that have exited and are not reaped. It is no
// snapshot: a process that starts meanwhile may be missing, and with it what it starts. Those that may not be looked at are
// missing as well. If anything else keeps a process from being read, as when this one has no descriptors left, there is no
// list: an error never means that nobody is there.
func Processes() ([]Listed, error) {
	list, _, err := processes()
	return list, err
}

// processes also reports whether some may not be looked at.
func processes() (list []Listed, hidden bool, err error) {
	if !procIsOurs() {
		return nil, false, Unsupported
	}
	names, err := processNames()
	if err != nil {
		return nil, false, err
	}
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		l, live, err := listed(pid)
		switch {
		case isRefused(err):
			hidden = true
		case err != nil && !isGone(err):
			return nil, false, err
		case live:
			list = append(list, l)
		}
	}
	return list, hidden, nil
}

func processNames() ([]string, error) {
	dir, err := os.Open("/proc")
	if isRefused(err) {
		return nil, Unsupported
	}
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return dir.Readdirnames(-1)
}

// isGone reports whether an error below /proc says that there is no such process.
func isGone(err error) bool { return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH) }

// isRefused reports whether an error below /proc says that the process is another user's business.
func isRefused(err error) bool { return errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) }

func listed(pid int) (l Listed, live bool, err error) {
	fields, err := statFields(pid)
	if err != nil {
		return Listed{}, false, err
	}
	l = Listed{
		PID: pid, Parent: fields.number(statParent), Group: fields.number(statGroup), Start: fields.ticks(statStart),
	}
	// Z and X say that the first thread has ended; others may run.
	if s := fields[statState][0]; s == 'Z' || s == 'X' {
		return l, !hasExited(pid), nil
	}
	return l, true, nil
}

// hasExited believes only a pidfd, where there are any.
func hasExited(pid int) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err == unix.ESRCH || noPidfds(err)
	}
	defer unix.Close(fd)
	return readable(fd)
}

// noPidfds reports whether pidfd_open's error means that there are none: EPERM comes from filters of system calls only.
func noPidfds(err error) bool { return err == unix.ENOSYS || err == unix.EPERM }

// longestExec is how long a process may take from the old program's memory to the new one's variables; microseconds, unless
// the disk has it wait.
const longestExec = time.Second

// Environment is the block of variables that a process was started with, each ended by a NUL byte. Nothing is an answer
// too: it may have none. It returns later if the process is just executing a program, since none can be seen then. An error
// of kind NotExist or NoProcess means that the process is gone, NotPermitted or AccessDenied that it is not for us to see;
// any other that nothing is known.
func Environment(pid int) ([]byte, error) {
	for end := time.Now().Add(longestExec); ; time.Sleep(longestExec / 10_000) {
		block, err := environment(pid)
		if len(block) > 0 || err != nil {
			return block, err
		}
		none, err := hasNone(pid)
		if none || err != nil || time.Now().After(end) {
			return nil, err
		}
	}
}

// hasNone reports whether a process has no variables, and not just none that can be seen: neither until its new program's
// memory has them, nor when the old one's went while they were read.
func hasNone(pid int) (bool, error) {
	fields, err := statFields(pid)
	if isGone(err) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if len(fields) <= statEnvEnd || fields.number(statSize) == 0 { // it has ended, or is the kernel's
		return true, nil
	}
	// The kernel says where the program's code ends once the variables are there.
	return fields.number(statCodeEnd) != 0 && bytes.Equal(fields[statEnvFirst], fields[statEnvEnd]), nil
}

func environment(pid int) ([]byte, error) {
	dir := "/proc/" + strconv.Itoa(pid)
	block, err := os.ReadFile(dir + "/environ")
	if len(block) > 0 || err != nil && !errors.Is(err, unix.ESRCH) {
		return block, err
	}
	// The first thread may have ended: then others tell.
	threads, err := os.ReadDir(dir + "/task")
	if err != nil {
		return nil, err
	}
	for _, thread := range threads {
		block, err := os.ReadFile(dir + "/task/" + thread.Name() + "/environ")
		if len(block) > 0 || err != nil && !isGone(err) {
			return block, err
		}
	}
	return nil, nil
}

// SignalProcess signals the process that had this number and this start time when it was listed, and no later one.
func SignalProcess(l Listed, signal syscall.Signal) error {
	fd, err := unix.PidfdOpen(l.PID, 0)
	if noPidfds(err) {
		if err := isStill(l); err != nil {
			return err
		}
		return unix.Kill(l.PID, signal)
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := isStill(l); err != nil {
		return err
	}
	return unix.PidfdSendSignal(fd, signal, nil, 0)
}

// isStill is ESRCH if the number is another process's by now.
func isStill(l Listed) error {
	fields, err := statFields(l.PID)
	switch {
	case isGone(err), err == nil && fields.ticks(statStart) != l.Start:
		return unix.ESRCH
	}
	return err
}

// BecomeReaper makes this process the parent of all that its descendants leave behind.
func BecomeReaper() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// ProbeGroup asks the system about a process group: Exited is a group of which only members are left that nobody reaped.
// Whatever keeps this from being known leaves the group Present or Forbidden.
func ProbeGroup(group int) Presence {
	answer := killedGroup(group)
	if answer == Absent || answer == Unknown || !seesAll() {
		return answer
	}
	for range 2 { // during one look, the last member can start another, which is not listed, and end
		list, hidden, err := processes()
		if err != nil || hidden || slices.ContainsFunc(list, func(l Listed) bool { return l.Group == group }) {
			return answer
		}
	}
	return Exited
}

// seesAll reports whether /proc shows the processes of other users too.
func seesAll() bool {
	_, err := os.Stat("/proc/1/stat")
	mounts, unreadable := os.ReadFile("/proc/self/mounts")
	return err == nil && unreadable == nil && !bytes.Contains(mounts, []byte("hidepid="))
}
