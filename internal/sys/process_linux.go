package sys

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Probe asks the system about a process number. "No such process" is only ever the answer of kill or pidfd_open, never a
// missing entry of /proc; "exited" is only a readable pidfd, since a process whose first thread has ended shows the state
// Z and lives.
func Probe(pid int) Process {
	p := Process{Presence: killed(pid)}
	if p.Presence == Absent || p.Presence == Unknown {
		return p
	}
	fd, err := unix.PidfdOpen(pid, 0)
	switch {
	case err == nil:
		if readable(fd) {
			p.Presence = Exited
		}
		unix.Close(fd)
	case err == unix.ESRCH:
		return Process{Presence: Absent}
	case procIsOurs():
		p.Thread = isThread(pid)
	}
	if procIsOurs() {
		p.Start = startTime(pid)
	}
	return p
}

func readable(fd int) bool {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := repeated(func() (int, error) { return unix.Poll(fds, 0) })
	return err == nil && n == 1 && fds[0].Revents&unix.POLLIN != 0
}

// procIsOurs reports whether /proc shows the process numbers that our system calls use: in a new pid namespace it may
// still be the one of the namespace above.
var procIsOurs = sync.OnceValue(func() bool {
	link, err := os.Readlink("/proc/self")
	return err == nil && link == strconv.Itoa(os.Getpid())
})

// startTime is field 22 of /proc/PID/stat: clock ticks after boot, as the reader's time namespace counts them. 0 is unknown.
func startTime(pid int) uint64 {
	fields, err := statFields(pid)
	if err != nil {
		return 0
	}
	return fields.ticks(statStart)
}

// stat are the fields of /proc/PID/stat from the third on, each at its number in proc(5) less three.
type stat [][]byte

const (
	statState    = 0
	statParent   = 4 - 3
	statGroup    = 5 - 3
	statStart    = 22 - 3
	statSize     = 23 - 3
	statCodeEnd  = 27 - 3
	statEnvFirst = 50 - 3
	statEnvEnd   = 51 - 3
)

// statFields reads them. The second, the command's name in parentheses, may contain both blanks and parentheses.
func statFields(pid int) (stat, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil, err
	}
	fields := stat(bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) <= statStart {
		return nil, Unsupported
	}
	return fields, nil
}

func (s stat) number(field int) int {
	n, _ := strconv.Atoi(string(s[field]))
	return n
}

func (s stat) ticks(field int) uint64 {
	n, _ := strconv.ParseUint(string(s[field]), 10, 64)
	return n
}

func isThread(pid int) bool {
	group, ok := procField("/proc/"+strconv.Itoa(pid)+"/status", "Tgid:")
	return ok && group != strconv.Itoa(pid)
}

func procField(path, key string) (string, bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", false
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, key); ok {
			return strings.TrimSpace(rest), true
		}
		if rest, ok := strings.CutPrefix(line, key+" "); ok {
			return strings.TrimSpace(rest), true
		}
	}
	return "", false
}

// ticksPerSecond is what the kernel divides by for user space on every architecture that Go runs on.
const ticksPerSecond = 100

// Describe tells what is known of a live process; for people only.
func Describe(pid int) Description {
	if !procIsOurs() {
		return Description{}
	}
	var d Description
	if line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline"); err == nil {
		d.Command = strings.TrimSpace(strings.ReplaceAll(string(line), "\x00", " "))
	}
	boot, ok := procField("/proc/stat", "btime")
	seconds, err := strconv.ParseInt(boot, 10, 64)
	if start := startTime(pid); ok && err == nil && start != 0 {
		d.Started = time.Unix(seconds, 0).Add(time.Duration(start) * time.Second / ticksPerSecond)
	}
	return d
}
