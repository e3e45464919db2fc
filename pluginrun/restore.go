package pluginrun

import (
	"bytes"
	"fmt"
	"io/fs"
	"strconv"

	"github.com/holdfast-go/holdfast/atomicwrite"
	"github.com/holdfast-go/holdfast/internal/sys"
)

// restore makes the files what they were, and returns the names of those that were something else. After an error the index
// is still there, and the next run does it again.
func (c *copies) restore(op *operation) (changed []string, err error) {
	for _, f := range c.Files {
		was, err := f.restore(op, c)
		if err != nil {
			path := op.place.file(string(f.Name))
			if info, failed := op.sys.lstat(path); failed == nil && !info.Regular() && info.Mode&fs.ModeSymlink == 0 {
				err = inTheWay(info.Mode, err)
			}
			return changed, &Error{"restore", path, err}
		}
		if was {
			changed = append(changed, string(f.Name))
		}
	}
	return changed, c.drop(op)
}

func (f copyFile) restore(op *operation, c *copies) (changed bool, err error) {
	path := op.place.file(string(f.Name))
	if f.Copy == "" {
		err := op.sys.remove(path, true)
		if sys.IsKind(err, sys.NotExist, sys.NotDirectory) {
			return false, nil
		}
		return true, err
	}
	was, err := op.sys.readFile(c.path(f.Copy))
	if err != nil {
		return false, err
	}
	if f.isAsBefore(op, path, was) {
		return false, nil
	}
	mode, err := strconv.ParseUint(f.Mode, 8, 32)
	if err != nil {
		return false, ErrCopies
	}
	if f.Link == "" {
		return true, op.sys.writeFile(path, was, fs.FileMode(mode))
	}
	if to, err := op.sys.readLink(path); err != nil || fileName(to) != f.Link {
		dir, _ := split(path)
		err := op.sys.makeDir(dir, 0o777) // as writing a file does
		if err == nil {
			err = op.sys.symlink(string(f.Link), path)
		}
		if err != nil {
			return true, err
		}
	}
	return true, op.sys.writeFile(path, was, fs.FileMode(mode), atomicwrite.FollowSymlink())
}

// isAsBefore reports whether nothing has to be restored. What cannot be told has to.
func (f copyFile) isAsBefore(op *operation, path string, was []byte) bool {
	info, err := op.sys.lstat(path)
	mode := info.Mode
	if err == nil && f.Link != "" {
		if to, linkErr := op.sys.readLink(path); linkErr != nil || fileName(to) != f.Link {
			return false
		}
		mode, err = op.sys.stat(path)
	}
	if err != nil || !mode.IsRegular() || fmt.Sprintf("%04o", mode.Perm()) != f.Mode {
		return false
	}
	is, err := op.sys.readFile(path)
	return err == nil && bytes.Equal(is, was)
}

// finishRestore restores what runs left that did not get to it, the oldest first: a later one has copied what it found.
// There must be no run.
func (op *operation) finishRestore() error {
	left, err := op.findCopies()
	if err != nil {
		return err
	}
	for _, l := range left {
		if !l.indexed {
			op.sweep(l.dir)
		} else if err := op.finishRestoreFrom(l.dir); err != nil {
			return err
		}
	}
	return nil
}

func (op *operation) finishRestoreFrom(dir string) error {
	c, err := op.readIndex(dir)
	if err != nil { // with a path that stays the same from try to try
		return err
	}
	if c != nil {
		c, err = op.readIndex(op.take(dir))
	}
	if c == nil || err != nil {
		return err
	}
	changed, err := c.restore(op)
	if err != nil {
		return err
	}
	if len(changed) > 0 {
		op.log.Warn("restored files that a run had left half changed", "dir", op.dir, "files", changed)
	}
	return nil
}

// readIndex returns the copies in dir: nil if they were set aside.
func (op *operation) readIndex(dir string) (*copies, error) {
	index := sys.Below(dir, indexName)
	data, err := op.sys.readFile(index)
	if sys.IsKind(err, sys.NotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &Error{"read the index of copies", index, err}
	}
	c, err := parseIndex(data)
	if err != nil {
		return nil, &Error{"restore what an earlier run left", index, fmt.Errorf("%w; compare the copies beside it with the files, then move their directory away", err)}
	}
	c.dir = dir
	return c, nil
}

// take renames a directory of copies to a name that only we know, and returns that. A run that has lost its lock may be
// about to set its copies aside: without a directory of the old name it does not, and without one of the new name we do not
// restore. Where the system refuses to rename, we restore all the same; so we do from an earlier version's.
func (op *operation) take(dir string) string {
	to := op.place.copiesOf(op.newToken())
	if dir == op.place.copies() {
		return dir
	}
	if err := op.sys.rename(dir, to); err != nil && !sys.IsKind(err, sys.NotExist) {
		op.log.Debug("copies are restored from where they are", "path", dir, "err", err)
		return dir
	}
	return to
}
