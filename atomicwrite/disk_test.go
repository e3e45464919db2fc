package atomicwrite

import (
	"encoding/binary"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/sys"
)

// disk is a machine in memory with everything that a power cut can leave of it. What is certain to survive is a file's data
// and mode at its last sync and a directory's names at its own. Of what was done since, the changes of one directory's
// names survive up to any point, in their order, whatever survives of another directory or of the files' content; of a
// file, any prefix of what was written and any mode that it had.
type disk struct {
	root    *node
	ordered bool // a name survives only with the data and mode that the file had when it got that name
	umask   fs.FileMode
	stepped func() // after each operation
	made    uint64 // nodes so far
	drawn   uint32 // random numbers so far
	open    int    // handles
}

// writtenAtOnce is less than the tests write, so that writes are short.
const writtenAtOnce = 16

func newDisk(ordered bool, umask fs.FileMode) *disk {
	d := &disk{ordered: ordered, umask: umask}
	d.root = d.newNode(fs.ModeDir | 0o755)
	return d
}

func (d *disk) newNode(mode fs.FileMode) *node {
	d.made++
	n := &node{id: d.made, history: []version{{0, mode}}}
	if mode.IsDir() {
		n.entries, n.durable = map[string]*node{}, map[string]*node{}
	}
	return n
}

func (d *disk) step() {
	if d.stepped != nil {
		d.stepped()
	}
}

func (d *disk) find(path string) (*node, error) {
	n := d.root
	for name := range strings.SplitSeq(filepath.ToSlash(path), "/") {
		if name == "." {
			continue
		}
		if n = n.entries[name]; n == nil {
			return nil, sys.NotExist
		}
	}
	return n, nil
}

// files are all that are no directories, by their paths with slashes.
func (d *disk) files() map[string]*node {
	all := map[string]*node{}
	d.root.list("", all)
	return all
}

func (d *disk) openDir(path string) (directory, error) {
	defer d.step()
	n, err := d.find(path)
	if err != nil {
		return nil, err
	}
	d.open++
	return diskDir{d, n}, nil
}

func (d *disk) mkdir(path string, mode fs.FileMode) error {
	defer d.step()
	up, base, _ := split(path)
	dir, err := d.find(up)
	switch {
	case err != nil:
		return err
	case dir.entries[base] != nil:
		return sys.Exists
	}
	dir.enter("", base, d.newNode(fs.ModeDir|mode&^d.umask))
	return nil
}

func (d *disk) readlink(path string) (string, error) {
	defer d.step()
	n, err := d.find(path)
	if err != nil {
		return "", err
	}
	return n.link, nil
}

func (d *disk) openFile(string) (file, error) { return nil, sys.Unsupported }
func (d *disk) symlink(string, string) error  { return sys.Unsupported }
func (d *disk) pause(time.Duration)           {}
func (d *disk) refusalsPass() bool            { return false }

// random begins anew after a power cut, so that the next writer draws the name of a temp that was left.
func (d *disk) random(p []byte) {
	binary.BigEndian.PutUint32(p, d.drawn)
	d.drawn++
}

type diskDir struct {
	d *disk
	n *node
}

func (dir diskDir) ID() (sys.FileID, error) { return sys.FileID{}, sys.Unsupported }

func (dir diskDir) Lstat(name string) (sys.Info, error) {
	defer dir.d.step()
	if n := dir.n.entries[name]; n != nil {
		return n.info(), nil
	}
	return sys.Info{}, sys.NotExist
}

func (dir diskDir) open(name string) (file, error) {
	defer dir.d.step()
	n := dir.n.entries[name]
	if n == nil {
		return nil, sys.NotExist
	}
	dir.d.open++
	return &diskFile{d: dir.d, n: n}, nil
}

func (dir diskDir) createNew(name string, mode fs.FileMode) (file, error) {
	defer dir.d.step()
	if dir.n.entries[name] != nil {
		return nil, sys.Exists
	}
	n := dir.d.newNode(mode &^ dir.d.umask)
	dir.n.enter("", name, n)
	dir.d.open++
	return &diskFile{d: dir.d, n: n}, nil
}

func (dir diskDir) replace(from, to string) error {
	defer dir.d.step()
	n := dir.n.entries[from]
	if n == nil {
		return sys.NotExist
	}
	dir.n.enter(from, to, n)
	return nil
}

func (dir diskDir) remove(name string) error {
	defer dir.d.step()
	if dir.n.entries[name] == nil {
		return sys.NotExist
	}
	dir.n.enter(name, "", nil)
	return nil
}

func (dir diskDir) Sync() error {
	defer dir.d.step()
	dir.n.sync()
	return nil
}

func (dir diskDir) Close() error {
	defer dir.d.step()
	dir.d.open--
	return nil
}

type diskFile struct {
	d      *disk
	n      *node
	offset int64
}

func (f *diskFile) Stat() (sys.Info, error) {
	defer f.d.step()
	return f.n.info(), nil
}

func (f *diskFile) Read(p []byte) (int, error) {
	n, err := f.ReadAt(p, f.offset)
	f.offset += int64(n)
	return n, err
}

func (f *diskFile) ReadAt(p []byte, offset int64) (int, error) {
	defer f.d.step()
	return copy(p, f.n.data[min(offset, int64(len(f.n.data))):]), nil
}

func (f *diskFile) Write(p []byte) (int, error) {
	defer f.d.step()
	p = p[:min(len(p), writtenAtOnce)]
	f.n.append(p)
	return len(p), nil
}

func (f *diskFile) Chmod(mode fs.FileMode) error {
	defer f.d.step()
	f.n.history = append(f.n.history, version{len(f.n.data), mode})
	return nil
}

func (f *diskFile) TryLock(bool) error {
	defer f.d.step()
	return nil
}

func (f *diskFile) Sync() error {
	defer f.d.step()
	f.n.sync()
	return nil
}

func (f *diskFile) Close() error {
	defer f.d.step()
	f.d.open--
	return nil
}
