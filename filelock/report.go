package filelock

import "time"

// What a contender says of a wait: to its caller, to the log, and when it gives up.

func (c *contender) giveUp(block *obstacle, waited time.Duration) error {
	if block.asItself != nil {
		return block.asItself
	}
	e := &HeldError{Path: c.lockPath(), Holder: c.blockedBy(block), Waited: c.opts.spent(waited), Err: block.err}
	if block.claim != nil {
		e.Claim = c.dirPath + block.claim.name
	}
	return e
}

// blockedBy names who is in the way: the claimant if a claim is.
func (c *contender) blockedBy(block *obstacle) Holder {
	switch {
	case block.claim != nil:
		return c.holder(block.claim)
	case block.lock != nil:
		return c.holder(block.lock)
	}
	return Holder{}
}

// holderBefore names who is in the way of a contender that queues behind another one of this process: whoever keeps that one
// from the lock, otherwise this process.
func (c *contender) holderBefore(k key) Holder {
	if block := c.process.ahead(k); block != nil {
		return c.blockedBy(block)
	}
	return c.ourselves(k)
}

func (c *contender) ourselves(k key) Holder {
	h := Holder{PID: c.sys.self().PID, State: Ourselves, Why: string(ours)}
	if l := c.process.holder(k); l != nil {
		h.Since = l.inode.preparedAt
	}
	return h
}

// tellWaiting is called before each pause: it calls OnWait, and logs that the wait begins and, once, that it is long.
func (c *contender) tellWaiting(holder func() Holder) {
	if !c.waits {
		c.waits = true
		c.log.Debug("waiting for lock", "path", c.lockPath(), "holder", holder().PID)
	}
	if c.opts.onWait != nil {
		c.opts.onWait(holder())
	}
	waited := c.sys.now().Sub(c.started)
	if c.said || waited < sayAfter {
		return
	}
	c.said = true
	h := holder()
	c.log.Info("still waiting for lock", "path", c.lockPath(), "pid", h.PID, "state", h.State, "why", h.Why,
		"command", h.Command, "since", h.Since, "waited", round(waited))
}
