package filelock

import (
	"fmt"
	"slices"

	"github.com/holdfast-go/holdfast/internal/sys"
)

// holder says who has the lock: this process if it has a lease, else whom the kernel names, else, as a hint, whom the file's
// metadata does. That stays in the file after a release, and readers and other programs write none.
func (c *kernelContender) holder(f lockFile, id sys.FileID) Holder {
	me := c.sys.self().PID
	m, known := readMetadata(f)
	var h Holder
	if pids := c.lockedBy(id, me); len(pids) > 0 {
		h = Holder{PID: pids[0], Why: "the kernel names it"}
		if slices.Contains(pids, me) {
			h.PID = me
		}
	} else if known {
		h = Holder{PID: m.PID, Hint: true, Why: "its metadata names it, which is a hint"}
	} else {
		return Holder{State: Unproven, Why: "its metadata names nobody"}
	}
	if info, err := f.Stat(); err == nil && known && m.PID == h.PID {
		h.Since = info.ModTime
	}
	c.judgeHolder(&h, me)
	return h
}

// lockedBy are the processes that have the lock, if it is not only metadata that says so.
func (c *kernelContender) lockedBy(id sys.FileID, me int) []int {
	if c.table.holds(id) {
		return []int{me}
	}
	return c.sys.lockedBy(id)
}

func (c *kernelContender) judgeHolder(h *Holder, me int) {
	if h.PID == me {
		h.State = Ourselves
		if h.Hint {
			h.State, h.Why = Unproven, fmt.Sprintf("its metadata names our own PID %d, and we do not hold it", me)
		}
		return
	}
	switch c.sys.probe(h.PID).Presence {
	case sys.Present:
		h.State = Alive
	case sys.Forbidden:
		h.State = OtherUser
	case sys.Absent, sys.Exited:
		h.State, h.Why = Unproven, fmt.Sprintf("PID %d took it last and has ended", h.PID)
		return
	default:
		h.State, h.Why = Unproven, fmt.Sprintf("the system does not say whether PID %d runs", h.PID)
		return
	}
	d := c.sys.describe(h.PID)
	h.Command, h.Started = d.Command, d.Started
}

// holderBefore is holder for a contender that queues behind another one of this process: unless somebody else has the lock,
// this process has it, or is taking it.
func (c *kernelContender) holderBefore(f lockFile, id sys.FileID) Holder {
	h := c.holder(f, id)
	if me := c.sys.self().PID; h.PID == 0 || h.PID == me && h.Hint {
		return Holder{PID: me, State: Ourselves, Why: "another goroutine of this process comes first"}
	}
	return h
}
