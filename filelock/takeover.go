package filelock

import (
	"fmt"

	"github.com/holdfast-go/holdfast/internal/sys"
)

// takeOver ends the lock of a holder that was proven dead, under a claim. At most one of its results is not nil: the inode is
// our lock, already in the dead one's place; without any the dead lock is gone, and the caller contends for the free name.
//
// The pinned inode is what makes it safe. With bytes alone, contenders A and B and the dead holder 99:
//
//	1  B reads "99\n", finds 99 gone
//	2  A claims, takes the lock over, releases it
//	3  a new process gets pid 99 and takes the lock: "99\n" again
//	4  B claims, reads "99\n" again: equal
//	5  process 99 releases and exits; A acquires
//	6  B asks for 99: gone; B removes A's lock: two holders
//
// In step 4 the inode is another one than B pinned in step 1, and B stops there.
//
// A claim of ours is a whole record of ours, guarded, as a lock is: renamed over the dead lock it becomes our lock. That the
// lock is never free in between is what lets the successor of a dead holder always know of it. An adopted claim has a dead
// process's record, and where names linger a pinned file cannot be renamed over: there the lock is removed, then the claim,
// and a third contender that finds the name free in between follows without being told; we are told when we follow it.
//
// What stays open: between the last look at the name and the act there is no call that acts only if the name still means a
// given inode. Nobody who keeps to the protocol can change the name in that window, since a dead holder does not release and
// every other contender needs the claim; an operator who deletes the lock by hand can.
func (c *contender) takeOver(dead *sighting) (*inode, *obstacle, error) {
	defer dead.close()
	claim, block, err := c.claim(dead)
	if claim == nil {
		return nil, block, err
	}
	defer func() {
		if claim != nil {
			c.dropClaim(claim)
		}
	}()
	if claim.whose != nil {
		c.log.Warn("adopted the claim of a dead claimant", "path", c.dirPath+claim.name, "pid", claim.whose.pid, "proof", claim.whose.proof)
	}
	if !c.stillDead(dead) {
		return nil, &obstacle{lock: dead, asItself: c.cannotLook(dead)}, nil
	}
	c.log.Debug("ending a dead holder's lock", "path", c.lockPath(), "pid", dead.pid)
	if claim.ours != nil && !c.sys.namesLinger() {
		err = c.dir.replace(claim.file, claim.name, c.name)
		if err == nil || c.means(c.name, claim.id) {
			claim.name = c.name
			c.tookOver(dead)
			ours := claim.ours
			claim = nil
			return ours, nil, nil
		}
	} else {
		err = c.dir.remove(c.name, dead.file)
		if err == nil || left(c.dir, c.name, dead.info.ID) {
			dead.close() // where names linger, our handle would keep it
			over := claim
			claim = nil
			c.dropClaim(over)
			c.tookOver(dead)
			return nil, nil, nil
		}
	}
	return nil, &obstacle{lock: dead, err: err}, nil
}

func (c *contender) tookOver(dead *sighting) {
	was := c.holder(dead)
	c.taken = &Takeover{PID: dead.pid, Proof: string(dead.proof), Since: was.Since, Foreign: was.Foreign}
	c.log.Warn("took over the lock of a dead holder: what it protects may be half done",
		"path", c.lockPath(), "pid", dead.pid, "proof", dead.proof, "since", was.Since, "foreign", was.Foreign)
}

// stillDead is the second probe.
func (c *contender) stillDead(dead *sighting) bool {
	before := string(dead.bytes)
	if !c.means(c.name, dead.info.ID) {
		return false
	}
	c.judge(dead)
	return dead.verdict == gone && string(dead.bytes) == before
}

// claimed is the right to end one dead holder's lock: a claim file of ours, or one adopted from a dead claimant.
type claimed struct {
	name  string
	file  file
	id    sys.FileID
	ours  *inode    // nil: adopted
	whose *sighting // nil: ours
}

// claim makes the claim on dead's lock or adopts the one that is there. Exactly one of the results is not nil.
func (c *contender) claim(dead *sighting) (*claimed, *obstacle, error) {
	name := claimName(c.name, dead.bytes)
	i, err := c.publish(name, nil)
	switch {
	case err == nil:
		return &claimed{name, i.file, i.id, i, nil}, nil, nil
	case sys.IsKind(err, sys.Exists):
		claim, block := c.adopt(dead, name)
		return claim, block, nil
	case sys.IsKind(err, sys.NotPermitted), c.lingers(err):
		return nil, &obstacle{lock: dead, asItself: &Error{"make the claim", c.dirPath + name, err}}, nil
	default:
		return nil, nil, &Error{"make the claim", c.dirPath + name, err}
	}
}

// adopt takes over the claim of a claimant that was proven dead: whoever has its inode's kernel lock while it still has
// its name is the claimant. A claim has no claim: without kernel locks a dead one is left to a person.
func (c *contender) adopt(dead *sighting, name string) (*claimed, *obstacle) {
	info, err := c.dir.Lstat(name)
	if err != nil {
		return nil, &obstacle{lock: dead}
	}
	seen, vanished := c.look(name, info)
	if vanished {
		return nil, &obstacle{lock: dead}
	}
	if seen.verdict != gone {
		seen.close()
		return nil, &obstacle{lock: dead, claim: seen, asItself: c.cannotLook(seen)}
	}
	err = seen.file.TryLock(true)
	switch {
	case sys.IsKind(err, sys.WouldBlock):
		seen.verdict, seen.proof = alive, guardHeld
	case err != nil && !sys.IsKind(err, sys.Unsupported):
		seen.verdict, seen.why = unproven, fmt.Sprintf("its kernel lock cannot be taken: %v", err)
	}
	if err != nil || !c.means(name, seen.info.ID) {
		_ = seen.file.Unlock() // closing it does not, as long as a forked child has not executed yet
		seen.close()
		return nil, &obstacle{lock: dead, claim: seen}
	}
	return &claimed{name, seen.file, seen.info.ID, nil, seen}, nil
}

// dropClaim removes the claim if it is still ours, then lets go of it. A claim that cannot be removed does not undo what
// was done under it.
func (c *contender) dropClaim(claim *claimed) {
	defer claim.file.Close()
	if c.means(claim.name, claim.id) {
		if err := c.dir.remove(claim.name, claim.file); err != nil {
			_ = claim.file.Unlock() // at once, so that it can be adopted
			c.log.Warn("claim could not be removed", "path", c.dirPath+claim.name, "err", err)
		}
	}
}
