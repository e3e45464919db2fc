package pluginrun

import (
	"github.com/holdfast-go/holdfast/internal/attribute"
	"github.com/holdfast-go/holdfast/internal/sys"
)

// Verdict is what may be concluded of a recorded run. Only Stopped lets another begin.
type Verdict string

// The verdicts.
const (
	Running  Verdict = "running"
	Stopped  Verdict = "stopped"
	Unproven Verdict = "unproven" // nobody can tell
)

// The proofs of a verdict.
const (
	bootDiffers    = "boot-differs"
	startDiffers   = "start-time-differs"
	noSuchProcess  = "no-such-process"
	noSuchGroup    = "no-such-group"
	notReaped      = "not-reaped"
	threadID       = "thread-id"
	onlyOurselves  = "only-ourselves" // all that is left of the run is what asks for the next one
	processRuns    = "process-runs"
	otherUser      = "other-user"
	markedProcess  = "marked-process"
	otherBoot      = "other-boot"
	otherNamespace = "other-namespace"
	noAnswer       = "no-answer"
)

// evidence is everything that one look at a record gave.
type evidence struct {
	run       recordedRun
	groups    bool                 // whether the system has process groups at all
	attribute *attribute.Attribute // nil: there is none, or it does not count
	local     bool                 // our own look at the record's file system found a local one
	me        sys.Self
	marked    bool // a process with the profile's mark was seen
	unseen    bool // there may be one that was not
	process   func(pid int) sys.Process
	group     func(pid int) sys.Presence
}

// judge applies the first row that fits. Unknown is never stopped; no clock is asked.
func judge(e evidence) (Verdict, string) {
	if e.marked {
		return Running, markedProcess
	}
	verdict, proof := judgeRecorded(e)
	if verdict == Stopped && e.unseen {
		return Unproven, noAnswer
	}
	return verdict, proof
}

func judgeRecorded(e evidence) (Verdict, string) {
	if e.run.pid > maxPID {
		return Unproven, noAnswer
	}
	pid := int(e.run.pid)
	if a := e.attribute; a != nil {
		switch {
		case !e.me.BootKnown():
			return Unproven, otherBoot
		case a.Boot != e.me.Boot && a.Local && e.local:
			return Stopped, bootDiffers
		case a.Boot != e.me.Boot:
			return Unproven, otherBoot
		case a.PIDSpace != e.me.PIDSpace:
			return Unproven, otherNamespace
		}
		// A number is not given again as long as a group has it: one that was means that its group is gone too.
		p := e.process(pid)
		if a.TimeSpace == e.me.TimeSpace && a.Start != 0 && p.Start != 0 && a.Start != p.Start {
			return Stopped, startDiffers
		}
	}
	if e.run.grouped && e.groups {
		return judgePresence(e.me, e.group(pid), noSuchGroup)
	}
	p := e.process(pid)
	if p.Thread {
		return Stopped, threadID
	}
	return judgePresence(e.me, p.Presence, noSuchProcess)
}

func judgePresence(me sys.Self, p sys.Presence, absent string) (Verdict, string) {
	switch p {
	case sys.Absent:
		if me.SeesAll {
			return Stopped, absent
		}
	case sys.Exited:
		return Stopped, notReaped
	case sys.Present:
		return Running, processRuns
	case sys.Forbidden:
		return Running, otherUser
	}
	return Unproven, noAnswer
}
