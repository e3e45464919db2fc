package pluginrun

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"github.com/holdfast-go/holdfast/atomicwrite"
	"github.com/holdfast-go/holdfast/internal/sys"
)

var (
	errNotLocal  = errors.New("not a name in the profile")
	errIrregular = errors.New("not a regular file")
	errNoIndex   = errors.New("not the index of copies that this program writes")
)

// copies are what the files were before a run. The index is written when all copies are there, and removed before any of
// them: copies without an index are litter of a run that did not begin, or has succeeded.
type copies struct {
	Version int        `json:"version"`
	Files   []copyFile `json:"files"`
}

// copyFile is one file as it was.
type copyFile struct {
	Name string `json:"name"`           // in the profile
	Copy string `json:"copy,omitempty"` // in the directory of copies; empty: there was no such file
	Mode string `json:"mode,omitempty"` // permission bits, octal
	Link string `json:"link,omitempty"` // it was a symbolic link to this; copy and mode are what it led to
}

const copiesVersion = 1

// copy writes down what the files are. After an error there is no index.
func (op *operation) copy() error {
	op.copies = &copies{Version: copiesVersion, Files: []copyFile{}}
	if err := op.sys.makeDir(op.place.copies(), 0o700); err != nil {
		return &Error{"make a directory", op.place.copies(), err}
	}
	for i, name := range op.opts.restore {
		f, err := op.copyOne(name, strconv.Itoa(i))
		if err != nil {
			return err
		}
		op.copies.Files = append(op.copies.Files, f)
	}
	index, err := json.Marshal(op.copies)
	if err == nil {
		err = op.sys.writeFile(op.place.index(), append(index, '\n'), 0o600)
	}
	if err != nil {
		return &Error{"write the index of copies", op.place.index(), err}
	}
	return nil
}

func (op *operation) copyOne(name, to string) (f copyFile, err error) {
	path := op.place.file(name)
	failure := func(err error) (copyFile, error) {
		return f, &Error{"copy what the file is before the run", path, err}
	}
	f.Name = name
	info, err := op.sys.lstat(path)
	if sys.IsKind(err, sys.NotExist) {
		return f, nil
	}
	mode := info.Mode
	if err == nil && mode&fs.ModeSymlink != 0 {
		if f.Link, err = op.sys.readLink(path); err == nil {
			mode, err = op.sys.stat(path)
		}
	}
	if err == nil && !mode.IsRegular() {
		err = errIrregular
	}
	if err != nil {
		return failure(err)
	}
	data, err := op.sys.readFile(path)
	if err != nil {
		return failure(err)
	}
	if err := op.sys.writeFile(op.place.copyOf(to), data, 0o600, atomicwrite.Sync(atomicwrite.SyncFile)); err != nil {
		return failure(err)
	}
	f.Copy, f.Mode = to, fmt.Sprintf("%04o", mode.Perm())
	return f, nil
}

// restore makes the files what they were, and returns the names of those that were something else. After an error the index
// is still there, and the next run does it again.
func (c *copies) restore(op *operation) (changed []string, err error) {
	for _, f := range c.Files {
		was, err := f.restore(op)
		if err != nil {
			return changed, &Error{"restore", op.place.file(f.Name), err}
		}
		if was {
			changed = append(changed, f.Name)
		}
	}
	return changed, c.drop(op)
}

func (f copyFile) restore(op *operation) (changed bool, err error) {
	path := op.place.file(f.Name)
	if f.Copy == "" {
		err := op.sys.remove(path, true)
		if sys.IsKind(err, sys.NotExist) {
			return false, nil
		}
		return true, err
	}
	was, err := op.sys.readFile(op.place.copyOf(f.Copy))
	if err != nil {
		return false, err
	}
	if f.isAsBefore(op, path, was) {
		return false, nil
	}
	mode, err := strconv.ParseUint(f.Mode, 8, 32)
	if err != nil {
		return false, errNoIndex
	}
	if f.Link == "" {
		return true, op.sys.writeFile(path, was, fs.FileMode(mode))
	}
	if to, err := op.sys.readLink(path); err != nil || to != f.Link {
		if err := op.sys.symlink(f.Link, path); err != nil {
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
		if to, linkErr := op.sys.readLink(path); linkErr != nil || to != f.Link {
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

// drop removes the copies, the index first: once that has reached the disk, nothing will be restored from them.
func (c *copies) drop(op *operation) error {
	if err := op.sys.remove(op.place.index(), true); err != nil && !sys.IsKind(err, sys.NotExist) {
		return &Error{"let go of what the files were before, so that the next run restores them: remove the index of copies", op.place.index(), err}
	}
	for i := range c.Files {
		path := op.place.copyOf(strconv.Itoa(i)) // one of an earlier run, too
		if err := op.sys.remove(path, false); err != nil && !sys.IsKind(err, sys.NotExist) {
			op.log.warn("a copy could not be removed", "path", path, "err", err)
		}
	}
	return nil
}

// setAside renames the copies, so that nobody restores from them.
func (op *operation) setAside() (where string, err error) {
	var random [6]byte
	op.sys.random(random[:])
	where = op.place.aside(hex.EncodeToString(random[:]))
	if err := op.sys.rename(op.place.copies(), where); err != nil {
		return "", &Error{"set the copies aside", op.place.copies(), err}
	}
	return where, nil
}

// finishRestore restores what a run left that did not get to it. There must be no run.
func (op *operation) finishRestore() error {
	data, err := op.sys.readFile(op.place.index())
	if sys.IsKind(err, sys.NotExist) {
		return nil
	}
	if err != nil {
		return &Error{"read the index of copies", op.place.index(), err}
	}
	c, err := parseIndex(data)
	if err != nil {
		return &Error{"restore what an earlier run left", op.place.index(), err}
	}
	changed, err := c.restore(op)
	if err != nil {
		return err
	}
	op.log.warn("restored files that a run had left half changed", "dir", op.place.dir, "files", changed)
	return nil
}
