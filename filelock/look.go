package filelock

import (
	"fmt"
	"io"
	"io/fs"

	"github.com/holdfast-go/holdfast/internal/attribute"
	"github.com/holdfast-go/holdfast/internal/sys"
)

// sighting is one look at a lock or claim, and what was concluded. While its file is open the inode is pinned: its number
// cannot be used again.
type sighting struct {
	name      string
	info      sys.Info
	file      file // nil if it could not be opened, or was closed
	bytes     []byte
	pid       int // 0: nobody
	attribute *attribute.Attribute
	verdict   verdict
	proof     proof
	why       string // what was found instead of a record
	failed    error  // it could not be looked at for a reason that is not its own
}

func (s *sighting) close() {
	if s.file != nil {
		s.file.Close()
		s.file = nil
	}
}

// look opens, reads and judges what lies at name. Only a regular file is opened, never through a link and never blocking;
// everything that cannot be read is unproven.
func (c *contender) look(name string, info sys.Info) (s *sighting, vanished bool) {
	s = &sighting{name: name, info: info, proof: noRecord}
	if !info.Regular() {
		s.why = "it is " + kindOfFile(info.Mode)
		return s, false
	}
	f, err := c.dir.open(name)
	if sys.IsKind(err, sys.NotExist) {
		return nil, true
	}
	if err != nil {
		s.unreadable(err)
		return s, false
	}
	s.file = f
	now, err := f.Stat()
	switch {
	case err != nil:
		s.unreadable(err)
		s.close()
	case !now.Regular():
		s.info, s.why = now, "it changed while it was opened"
		s.close()
	default:
		s.info = now
		c.judge(s)
	}
	return s, false
}

// unreadable notes why the file could not be opened or read. A refusal is a property of the file; anything else, such as too
// many open files, is the system's or our own, and says nothing of who has the lock.
func (s *sighting) unreadable(err error) {
	s.why = fmt.Sprintf("it cannot be read: %v", err)
	if !sys.IsKind(err, sys.AccessDenied, sys.NotPermitted, sys.Loop, sys.InUse) {
		s.failed = err
	}
}

// judge reads the pinned inode and applies the table. It may be called again later: the second probe is a second call.
func (c *contender) judge(s *sighting) {
	s.verdict, s.proof, s.pid, s.attribute, s.why, s.failed = unproven, noRecord, 0, nil, "", nil
	var buf [maxRecord + 1]byte
	n, err := readFull(s.file, buf[:])
	if err != nil {
		s.unreadable(err)
		return
	}
	s.bytes = append(s.bytes[:0], buf[:n]...)
	if pid, ok := parseRecord(s.bytes); ok {
		s.pid = pid
	}
	a, found, unread := attribute.Read(s.file)
	if found && (a.PID == s.pid || n == 0) {
		s.attribute, s.pid = &a, a.PID
	}
	guard, unanswered := probeGuard(s.file)
	s.verdict, s.proof = judge(evidence{
		pid:       s.pid,
		attribute: s.attribute,
		unread:    unread != nil,
		guard:     guard,
		device:    s.info.ID.Dev,
		local:     s.file.Local,
		me:        c.sys.self(),
		holdIt:    c.process.holds(s.info.ID),
		process:   c.sys.probe,
	})
	switch {
	case s.verdict != unproven:
	case s.proof == noAttribute:
		s.why = fmt.Sprintf("whether it has an attribute is not known: %v", unread)
	case s.proof == noGuardAnswer:
		s.why = fmt.Sprintf("whether it has a kernel lock is not known: %v", unanswered)
	default:
		s.why = whyUnproven(s)
	}
}

func readFull(f io.ReaderAt, p []byte) (n int, err error) {
	for n < len(p) {
		m, err := f.ReadAt(p[n:], int64(n))
		if err != nil {
			return n, err
		}
		if m == 0 {
			break
		}
		n += m
	}
	return n, nil
}

// probeGuard asks for the guard by taking it shared. The error is why there is no answer.
func probeGuard(f file) (guardState, error) {
	err := f.TryLock(false)
	switch {
	case err == nil:
		f.Unlock()
		return guardIsFree, nil
	case sys.IsKind(err, sys.WouldBlock):
		return guardHeldByThem, nil
	case sys.IsKind(err, sys.Unsupported):
		return guardNone, nil
	default:
		return guardFailed, err
	}
}

func whyUnproven(s *sighting) string {
	switch s.proof {
	case noRecord:
		found := "it " + describeBytes(s.bytes)
		if len(s.bytes) == 0 {
			found += ", as a writer leaves it that was killed or met a full disk"
		}
		return found
	case ourNumber:
		return fmt.Sprintf("it names our own PID %d but is not ours: another PID namespace, or an earlier process", s.pid)
	case otherBoot:
		return fmt.Sprintf("PID %d belongs to another boot or another machine", s.pid)
	case otherNamespace:
		return fmt.Sprintf("PID %d belongs to another PID namespace", s.pid)
	default:
		return fmt.Sprintf("the system does not say whether PID %d runs", s.pid)
	}
}

func kindOfFile(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return "a file"
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	default:
		return "a device"
	}
}

// holder turns a sighting into what people want to know.
func (c *contender) holder(s *sighting) Holder {
	h := Holder{PID: s.pid, Why: string(s.proof), Since: s.info.ModTime}
	if s.attribute != nil {
		h.Since = s.attribute.Prepared
	}
	switch {
	case s.verdict == gone:
		h.State = Dead
	case s.verdict == unproven:
		h.State, h.Why = Unproven, s.why
	case s.proof == ours || c.process.holds(s.info.ID):
		h.State = Ourselves
	case s.proof == otherUser:
		h.State = OtherUser
	default:
		h.State = Alive
	}
	h.Foreign = s.pid != 0 && !c.isOurSpace(s)
	if (h.State == Alive || h.State == OtherUser) && !h.Foreign {
		d := c.sys.describe(s.pid)
		h.Command, h.Started = d.Command, d.Started
	}
	return h
}
