package filelock

import (
	"github.com/holdfast-go/holdfast/internal/attribute"
	"github.com/holdfast-go/holdfast/internal/sys"
)

// verdict is what a contender may conclude from what it sees. Only gone permits a takeover.
type verdict uint8

const (
	unproven verdict = iota
	alive
	gone
)

// proof is the row of the table that led to a verdict.
type proof string

const (
	guardHeld      proof = "guard-held"
	guardFree      proof = "guard-free"
	bootDiffers    proof = "boot-differs"
	noSuchProcess  proof = "no-such-process"
	startDiffers   proof = "start-time-differs"
	notReaped      proof = "not-reaped"
	threadID       proof = "thread-id"
	processRuns    proof = "process-runs"
	otherUser      proof = "other-user"
	ours           proof = "ours"
	ourNumber      proof = "our-number"
	otherBoot      proof = "other-boot"
	otherNamespace proof = "other-namespace"
	noAnswer       proof = "no-answer"
	noGuardAnswer  proof = "no-guard-answer"
	noAttribute    proof = "no-attribute-answer"
	noRecord       proof = "no-record"
)

type guardState uint8

const (
	guardNone       guardState = iota // the file system has no kernel locks
	guardFailed                       // the question was not answered: it may be held
	guardIsFree                       // a shared try succeeded
	guardHeldByThem                   // a shared try was refused: somebody has it exclusively
)

// evidence is everything that one look at a lock or claim gave. The process is asked about only where the rest does not
// decide.
type evidence struct {
	pid       int                  // 0: the bytes name nobody
	attribute *attribute.Attribute // nil: there is none, or it does not count
	unread    bool                 // the question for the attribute was not answered
	guard     guardState
	device    uint64 // of the inode as we see it
	local     func() bool
	me        sys.Self
	holdIt    bool // this process holds exactly this inode
	process   func(pid int) sys.Process
}

// judge applies the first row that fits. Unknown is never dead; no clock is asked. A guard that may be held keeps a lock
// alive, whatever its number says, unless that guard's own holder is proven dead.
func judge(e evidence) (verdict, proof) {
	v, p := judgeByRow(e)
	if v == gone && e.guard == guardFailed && p != bootDiffers && (e.attribute == nil || !e.attribute.Guarded) {
		return unproven, noGuardAnswer
	}
	return v, p
}

func judgeByRow(e evidence) (verdict, proof) {
	if e.guard == guardHeldByThem {
		return alive, guardHeld
	}
	if e.unread {
		return unproven, noAttribute
	}
	if a := e.attribute; a != nil {
		return judgeByAttribute(e, a)
	}
	if e.pid == 0 {
		return unproven, noRecord
	}
	if e.pid == e.me.PID {
		if e.holdIt {
			return alive, ours
		}
		return unproven, ourNumber
	}
	return judgeByPresence(e.me, e.process(e.pid))
}

func judgeByAttribute(e evidence, a *attribute.Attribute) (verdict, proof) {
	if !e.me.BootKnown() {
		return unproven, otherBoot
	}
	if a.Boot != e.me.Boot {
		if a.Local && e.local() {
			return gone, bootDiffers
		}
		return unproven, otherBoot
	}
	// The kernel that let the holder lock this very inode says that nobody has it locked. Another device number means
	// another mount, whose locks this one may not see.
	if a.Guarded && a.Local && a.Device == e.device && e.guard == guardIsFree {
		return gone, guardFree
	}
	if e.holdIt {
		return alive, ours
	}
	if a.PIDSpace != e.me.PIDSpace {
		return unproven, otherNamespace
	}
	p := e.process(a.PID)
	if a.TimeSpace == e.me.TimeSpace && a.Start != 0 && p.Start != 0 && a.Start != p.Start {
		return gone, startDiffers
	}
	return judgeByPresence(e.me, p)
}

func judgeByPresence(me sys.Self, p sys.Process) (verdict, proof) {
	if p.Thread {
		return gone, threadID
	}
	switch p.Presence {
	case sys.Absent:
		if me.SeesAll {
			return gone, noSuchProcess
		}
	case sys.Exited:
		return gone, notReaped
	case sys.Present:
		return alive, processRuns
	case sys.Forbidden:
		return alive, otherUser
	}
	return unproven, noAnswer
}
