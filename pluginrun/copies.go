package pluginrun

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/atomicwrite"
	"github.com/holdfast-go/holdfast/internal/sys"
)

var errNotLocal = errors.New("not a name in the profile")

// copies are what the files were before a run. The index is written when all copies are there, and removed before any of
// them: copies without an index are litter of a run that did not begin, or has succeeded.
//
// Each run's lie in a directory of its own, which is named by the run's token: whatever a run does with its copies after it
// has lost the lock, it does to no others. Whoever renames the directory first has the copies: the run itself, which sets
// them aside, or the next one, which restores from them.
type copies struct {
	Version int        `json:"version"`
	Files   []copyFile `json:"files"`
	dir     string
}

// copyFile is one file as it was.
type copyFile struct {
	Name fileName `json:"name"`           // in the profile
	Copy string   `json:"copy,omitempty"` // in the directory of copies; empty: there was no such file
	Mode string   `json:"mode,omitempty"` // permission bits, octal
	Link fileName `json:"link,omitempty"` // it was a symbolic link to this; copy and mode are what it led to
}

const copiesVersion = 1

func (c *copies) path(name string) string { return sys.Below(c.dir, name) }

// copy writes down what the files are. After an error there is no index.
func (op *operation) copy() error {
	c := &copies{Version: copiesVersion, Files: []copyFile{}, dir: op.place.copiesOf(op.token)}
	op.copies = c
	err := op.sys.makeDir(c.dir, 0o700)
	for _, dir := range []string{op.place.copies(), op.place.dir} { // the one between them is synced with the record
		if err == nil {
			err = op.sys.syncDir(dir)
		}
	}
	if err != nil {
		return &Error{"make a directory", c.dir, err}
	}
	for i, name := range op.opts.restore {
		f, err := op.copyOne(name, strconv.Itoa(i))
		if err != nil {
			return err
		}
		c.Files = append(c.Files, f)
	}
	index, err := json.Marshal(c)
	if err == nil {
		err = op.sys.writeFile(c.path(indexName), append(index, '\n'), 0o600)
	}
	if err != nil {
		return &Error{"write the index of copies", c.path(indexName), err}
	}
	return nil
}

func (op *operation) copyOne(name, to string) (f copyFile, err error) {
	path := op.place.file(name)
	failure := func(err error) (copyFile, error) {
		return f, &Error{"copy what the file is before the run", path, err}
	}
	f.Name = fileName(name)
	info, err := op.sys.lstat(path)
	if sys.IsKind(err, sys.NotExist, sys.NotDirectory) {
		return f, nil
	}
	mode := info.Mode
	if err == nil && mode&fs.ModeSymlink != 0 {
		var leads string
		if leads, err = op.sys.readLink(path); err == nil {
			mode, err = op.sys.stat(path)
		}
		f.Link = fileName(leads)
	}
	if err == nil && !mode.IsRegular() {
		err = inTheWay(mode, atomicwrite.ErrIrregular)
	}
	if err != nil {
		return failure(err)
	}
	data, err := op.sys.readFile(path)
	if err != nil {
		return failure(err)
	}
	if err := op.sys.writeFile(op.copies.path(to), data, 0o600, atomicwrite.Sync(atomicwrite.SyncFile)); err != nil {
		return failure(err)
	}
	f.Copy, f.Mode = to, fmt.Sprintf("%04o", mode.Perm())
	return f, nil
}

// drop removes the copies, the index first: once that has reached the disk, nothing will be restored from them.
func (c *copies) drop(op *operation) error {
	index := c.path(indexName)
	if err := op.sys.remove(index, true); err != nil && !sys.IsKind(err, sys.NotExist) {
		return &Error{"let go of what the files were before, so that the next run restores them: remove the index of copies", index, err}
	}
	op.sweep(c.dir)
	return nil
}

// sweep removes copies without an index and their directory, of an earlier version's only the copies.
func (op *operation) sweep(dir string) {
	names, err := op.sys.list(dir)
	shared := dir == op.place.copies()
	for _, name := range names {
		if _, no := strconv.ParseUint(name, 10, 16); shared && no != nil {
			continue
		}
		if removed := op.sys.remove(sys.Below(dir, name), false); removed != nil && !sys.IsKind(removed, sys.NotExist) {
			err = removed
		}
	}
	if err == nil && !shared {
		err = op.sys.removeDir(dir)
	}
	if err != nil && !sys.IsKind(err, sys.NotExist) {
		op.log.Warn("copies that are not needed any more could not be removed", "path", dir, "err", err)
	}
}

// setAside renames the copies, so that nobody restores from them. where is empty if there are none any more: another run
// has them.
func (op *operation) setAside() (where string, err error) {
	where = op.place.aside(op.token)
	err = op.sys.rename(op.copies.dir, where)
	if sys.IsKind(err, sys.NotExist) {
		return "", nil
	}
	if err != nil {
		return "", &Error{"set the copies aside", op.copies.dir, err}
	}
	return where, nil
}

// found is a directory of copies that a run has left.
type found struct {
	dir     string
	indexed bool
	at      time.Time // when the index was written
}

// findCopies lists what runs have left, the oldest first.
func (op *operation) findCopies() (all []found, err error) {
	names, err := op.sys.list(op.place.copies())
	if sys.IsKind(err, sys.NotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &Error{"look for copies", op.place.copies(), err}
	}
	dirs := []string{op.place.copies()} // where an earlier version had them
	for _, name := range names {
		if isToken(name) {
			dirs = append(dirs, op.place.copiesOf(name))
		}
	}
	for _, dir := range dirs {
		index := sys.Below(dir, indexName)
		info, err := op.sys.lstat(index)
		if err != nil && !sys.IsKind(err, sys.NotExist, sys.NotDirectory) {
			return nil, &Error{"look for the index of copies", index, err}
		}
		all = append(all, found{dir, err == nil, info.ModTime})
	}
	slices.SortStableFunc(all, func(a, b found) int { return a.at.Compare(b.at) })
	return all, nil
}

// tokenSize is how many random bytes tell a run from all others; in names they are hexadecimal.
const tokenSize = 8

func isToken(name string) bool {
	return len(name) == 2*tokenSize && strings.Trim(name, "0123456789abcdef") == ""
}
