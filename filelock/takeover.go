package filelock

import "github.com/holdfast-go/holdfast/internal/sys"

// takeOver removes the lock of a holder that was proven dead, under a claim. With no obstacle and no error the lock is
// gone, and the caller becomes the holder like any contender.
//
// The pinned inode is what makes it safe. With bytes alone, contenders A and B and the dead holder 99:
//
//	1  B reads "99\n", finds 99 gone
//	2  A claims, removes the lock, acquires, releases
//	3  a new process gets pid 99 and takes the lock: "99\n" again
//	4  B claims, reads "99\n" again: equal
//	5  process 99 releases and exits; A acquires
//	6  B asks for 99: gone; B removes A's lock: two holders
//
// In step 4 the inode is another one than B pinned in step 1, and B stops there.
//
// What stays open: between the last look at the name and its removal there is no call that removes a name only if it
// still means a given inode. Nobody who keeps to the protocol can change the name in that window, since a dead holder does
// not release and every other contender needs the claim; an operator who deletes the lock by hand can.
func (c *contender) takeOver(dead *sighting) (*obstacle, error) {
	claim, block, err := c.claim(dead)
	if claim == nil {
		return block, err
	}
	defer c.dropClaim(claim)
	if !c.stillDead(dead) {
		return &obstacle{lock: dead}, nil
	}
	c.log.debug("removing a dead holder's lock", "path", c.lockPath(), "pid", dead.pid)
	if err := c.dir.remove(c.name, dead.file); err != nil && c.means(c.name, dead.info.ID) {
		return &obstacle{lock: dead, err: err}, nil
	}
	dead.close() // where names linger, ours would keep it
	h := c.holder(dead)
	c.taken = &Takeover{PID: dead.pid, Proof: string(dead.proof), Since: h.Since}
	c.log.warn("took over the lock of a dead holder: what it protects may be half done",
		"path", c.lockPath(), "pid", dead.pid, "proof", dead.proof, "since", h.Since)
	return nil, nil
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

// claimed is the right to remove one dead holder's lock: a claim file of ours, or one adopted from a dead claimant.
type claimed struct {
	name string
	file file
	id   sys.FileID
}

// claim makes the claim on dead's lock or adopts the one that is there. Exactly one of the results is not nil.
func (c *contender) claim(dead *sighting) (*claimed, *obstacle, error) {
	name := claimName(c.name, dead.bytes)
	i, err := c.publish(name, nil)
	switch {
	case err == nil:
		return &claimed{name, i.file, i.id}, nil, nil
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
		return nil, &obstacle{lock: dead, claim: seen}
	}
	err = seen.file.TryLock(true)
	if sys.IsKind(err, sys.WouldBlock) {
		seen.verdict, seen.proof = alive, guardHeld
	}
	if err != nil || !c.means(name, seen.info.ID) {
		seen.close()
		return nil, &obstacle{lock: dead, claim: seen}
	}
	c.log.warn("adopted the claim of a dead claimant", "path", c.dirPath+name, "pid", seen.pid, "proof", seen.proof)
	return &claimed{name, seen.file, seen.info.ID}, nil
}

// dropClaim removes the claim if it is still ours, then lets go of it. A claim that cannot be removed does not undo what
// was done under it.
func (c *contender) dropClaim(claim *claimed) {
	if c.means(claim.name, claim.id) {
		if err := c.dir.remove(claim.name, claim.file); err != nil {
			c.log.warn("claim could not be removed", "path", c.dirPath+claim.name, "err", err)
		}
	}
	claim.file.Close()
}
