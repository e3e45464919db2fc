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
// snapshot: a process that starts meanwhile may be missing, and with it what it starts.
func Processes() ([]Listed, error) {
	if !procIsOurs() {
		return nil, Unsupported
	}
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var list []Listed
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if l, live := listed(pid); live {
			list = append(list, l)
		}
	}
	return list, nil
}

func listed(pid int) (l Listed, live bool) {
	fields := statFields(pid)
	const state, parent, group, start = 0, 1, 2, 22 - 3 // fields 3, 4, 5, 22
	if len(fields) <= start {
		return Listed{}, false
	}
	l = Listed{PID: pid, Parent: number(fields[parent]), Group: number(fields[group])}
	l.Start, _ = strconv.ParseUint(string(fields[start]), 10, 64)
	// Z and X say that the first thread has ended; others may run.
	if s := fields[state][0]; s == 'Z' || s == 'X' {
		return l, !hasExited(pid)
	}
	return l, true
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

func number(field []byte) int {
	n, _ := strconv.Atoi(string(field))
	return n
}

// longestExec is how long a process may take from the old program's memory to the new one's variables; microseconds, unless
// the disk has it wait.
const longestExec = time.Second

// Environment is the block of variables that a process was started with, each ended by a NUL byte. Nothing is an answer
// too: it may have none. It returns later if the process is just executing a program, since none can be seen then.
func Environment(pid int) ([]byte, error) {
	for end := time.Now().Add(longestExec); ; time.Sleep(longestExec / 10_000) {
		block, err := environment(pid)
		if len(block) > 0 || err != nil || hasNone(pid) || time.Now().After(end) {
			return block, err
		}
	}
}

// hasNone reports whether a process has no variables, and not just none that can be seen: neither until its new program's
// memory has them, nor when the old one's went while they were read.
func hasNone(pid int) bool {
	fields := statFields(pid)
	const size, code, first, end = 23 - 3, 27 - 3, 50 - 3, 51 - 3
	if len(fields) <= end || number(fields[size]) == 0 { // it has ended, or is the kernel's
		return true
	}
	// The kernel says where the program's code ends once the variables are there.
	return number(fields[code]) != 0 && bytes.Equal(fields[first], fields[end])
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
		if block, err := os.ReadFile(dir + "/task/" + thread.Name() + "/environ"); err == nil && len(block) > 0 {
			return block, nil
		}
	}
	return nil, nil
}

// SignalProcess signals the process that had this number and this start time when it was listed, and no later one.
func SignalProcess(l Listed, signal syscall.Signal) error {
	fd, err := unix.PidfdOpen(l.PID, 0)
	if noPidfds(err) {
		if startTime(l.PID) != l.Start {
			return unix.ESRCH
		}
		return unix.Kill(l.PID, signal)
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if startTime(l.PID) != l.Start {
		return unix.ESRCH
	}
	return unix.PidfdSendSignal(fd, signal, nil, 0)
}

// BecomeReaper makes this process the parent of all that its descendants leave behind.
func BecomeReaper() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// ProbeGroup asks the system about a process group: Exited is a group of which only members are left that nobody reaped.
func ProbeGroup(group int) Presence {
	answer := killedGroup(group)
	if answer == Absent || answer == Unknown || !seesAll() {
		return answer
	}
	for range 2 { // during one look, the last member can start another, which is not listed, and end
		list, err := Processes()
		if err != nil || slices.ContainsFunc(list, func(l Listed) bool { return l.Group == group }) {
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
