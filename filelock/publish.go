package filelock

import (
	"context"
	"io/fs"
	"time"

	"github.com/holdfast-go/holdfast/internal/attribute"
	"github.com/holdfast-go/holdfast/internal/sys"
)

// form is one way of giving a lock or claim its name whole. They are tried in this order; all are correct, each is there
// for systems that refuse the one before.
type form uint8

const (
	unnamed   form = iota // an unnamed file is linked: nothing is left by a kill
	moved                 // a temporary name is renamed without replacing
	linked                // a temporary name is linked, then unlinked
	exclusive             // O_EXCL, then written: a kill right after it leaves an empty lock that nobody can prove dead
	forms
)

const recordMode fs.FileMode = 0o600

// stale is how old a prepared inode may be before its times are refreshed for publishing: other lockers judge by age.
const stale = 200 * time.Millisecond

// The guard of an inode that already has its name may be held by a contender that is just looking.
const (
	guardPatience = 100 * time.Millisecond
	guardPause    = 5 * time.Millisecond
)

// inode is a record of ours, written whole, its guard held until the file is closed. It is published at most once: an
// unnamed inode whose last name was removed cannot be named again.
type inode struct {
	file       file
	id         sys.FileID
	guarded    bool
	preparedAt time.Time
}

// publish gives a new record of ours the name. An error of kind Exists means that the name was taken, possibly just now;
// after every error nothing of ours has the name, and no temporary name is left. A prepared inode that lost its race is
// kept in ready, if that is not nil, and used from there.
func (c *contender) publish(name string, ready **inode) (*inode, error) {
	c.log.Debug("publishing", "path", c.dirPath+name)
	var err error
	for f := c.form; f < forms; f++ {
		var i *inode
		switch f {
		case unnamed:
			i, err = c.publishUnnamed(name, ready)
		case exclusive:
			i, err = c.publishExclusive(name)
		default:
			i, err = c.publishTemp(f, name)
		}
		if err == nil || sys.IsKind(err, sys.Exists) {
			c.form = f
		}
		if err == nil || final(err) || c.lingers(err) {
			return i, err
		}
	}
	return nil, err
}

// final reports whether err is an answer that no other form would change. Refusals go on to the next form: links, unnamed
// files and renames may each be forbidden by policy.
func final(err error) bool {
	return sys.IsKind(err, sys.Exists, sys.NoSpace, sys.ReadOnly, sys.NameTooLong, sys.TooManyFiles, sys.IO)
}

func (c *contender) publishUnnamed(name string, ready **inode) (*inode, error) {
	var i *inode
	if ready != nil && *ready != nil {
		i, *ready = *ready, nil
		if c.sys.now().Sub(i.preparedAt) > stale {
			i.file.Touch()
		}
	} else {
		f, err := c.dir.createUnnamed(recordMode)
		if err != nil {
			return nil, err
		}
		if i, err = c.prepare(f, false); err != nil {
			f.Close()
			return nil, err
		}
	}
	err := c.dir.linkUnnamed(i.file, name)
	switch {
	case err == nil || c.means(name, i.id): // a network file system may report a failure of what it has done
		return i, nil
	case ready != nil && sys.IsKind(err, sys.Exists):
		*ready = i
	default:
		i.file.Close()
	}
	return nil, err
}

func (c *contender) publishTemp(f form, name string) (*inode, error) {
	var random [6]byte
	c.sys.random(random[:])
	temp := tempName(c.name, random)
	file, err := c.dir.createNew(temp, recordMode)
	if err != nil {
		return nil, err
	}
	i, err := c.prepare(file, false)
	if err != nil {
		c.removeTemp(temp, file)
		return nil, err
	}
	if f == moved {
		err = c.dir.moveNew(file, temp, name)
	} else {
		err = c.dir.Link(temp, name)
	}
	if err != nil && !c.means(name, i.id) {
		c.removeTemp(temp, file)
		return nil, err
	}
	if f == linked || c.means(temp, i.id) {
		if err := c.dir.remove(temp, file); err != nil {
			c.log.Warn("temporary name could not be removed", "path", c.dirPath+temp, "err", err)
		}
	}
	return i, nil
}

// removeTemp removes a temporary name whose file we made, and closes the file.
func (c *contender) removeTemp(temp string, f file) {
	err := c.dir.remove(temp, f)
	f.Close()
	if err != nil && !sys.IsKind(err, sys.NotExist) {
		c.log.Warn("temporary name could not be removed", "path", c.dirPath+temp, "err", err)
	}
}

func (c *contender) publishExclusive(name string) (*inode, error) {
	f, err := c.dir.createNew(name, recordMode)
	if err != nil {
		return nil, err
	}
	i, err := c.prepare(f, true)
	if err != nil {
		var stays error
		if info, statErr := f.Stat(); statErr == nil && c.means(name, info.ID) {
			stays = c.dir.remove(name, f)
		}
		f.Close()
		if stays != nil {
			c.log.Warn("incomplete lock could not be removed", "path", c.dirPath+name, "err", stays)
		}
		return nil, err
	}
	return i, nil
}

// prepare makes f a whole record of ours: mode, guard, attribute, bytes, in this order. patient waits for a prober to let
// go of the guard; without the guard the record is as good, and its attribute says so. Where f has its name already, the
// attribute must come before the bytes: a number alone would be judged by a contender in another namespace, and an empty
// file with an attribute can be judged, one without cannot.
func (c *contender) prepare(f file, patient bool) (*inode, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Mode.Perm() != recordMode {
		if err := f.Chmod(recordMode); err != nil {
			return nil, err
		}
	}
	i := &inode{file: f, id: info.ID, guarded: c.guard(f, patient), preparedAt: c.sys.now()}
	named, guarded := c.sys.self(), i.guarded
	if c.opts.behalf != 0 {
		named.PID, named.Start = c.opts.behalf, c.sys.probe(c.opts.behalf).Start
		guarded = false // it may live on when we are gone
	}
	var buf [attribute.Size]byte
	if named.BootKnown() {
		a := attribute.New(named, info.ID.Dev, guarded, f.Local(), i.preparedAt)
		// A file system that refuses it leaves the record to be judged like a Node writer's.
		_ = f.SetAttribute(attribute.Name, a.Append(buf[:0]))
	}
	for record := appendRecord(buf[:0], named.PID); len(record) > 0; {
		n, err := f.Write(record)
		if err != nil {
			return nil, err
		}
		record = record[n:]
	}
	return i, nil
}

func (c *contender) guard(f file, patient bool) bool {
	for waited := time.Duration(0); ; waited += guardPause {
		err := f.TryLock(true)
		if err == nil {
			return true
		}
		if !patient || waited >= guardPatience || !sys.IsKind(err, sys.WouldBlock) {
			return false
		}
		_ = c.sys.pause(context.Background(), guardPause, nil)
	}
}
