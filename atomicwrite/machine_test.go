package atomicwrite

import (
	"io/fs"
	"time"

	"github.com/holdfast-go/holdfast/internal/sys"
)

// injected is the error of a fault: it does not say whether the operation took effect.
const injected = sys.IO

// machine is the real one, watched: it counts and names the operations, calls a hook before and after each, and makes
// those fail that it is told to. Random bytes and pauses are no operations; a closing that fails has closed.
type machine struct {
	system
	steps  []string // operations so far, in order
	before map[int]error
	after  map[int]error
	hook   func(step int, done bool)
	fail   func(op string, step int) error // nil: do it

	opens, closes int

	windows bool
	paused  []time.Duration
	draws   [][tempRandom]byte
	stuck   bool                    // writes write nothing
	largest int                     // write, in bytes
	named   func(name string) error // refuses names of created files
}

func newMachine() *machine {
	return &machine{system: osSystem{}, before: map[int]error{}, after: map[int]error{}}
}

func (m *machine) step(op string, do func() error) error {
	n := len(m.steps)
	m.steps = append(m.steps, op)
	if m.hook != nil {
		m.hook(n, false)
	}
	if op == "close" {
		m.closes++
	}
	err := m.before[n]
	if err == nil && m.fail != nil {
		err = m.fail(op, n)
	}
	if err != nil {
		if op == "close" {
			_ = do()
		}
		return err
	}
	err = do()
	if m.hook != nil {
		m.hook(n, true)
	}
	if m.after[n] != nil {
		return m.after[n]
	}
	return err
}

func (m *machine) count(op string) (n int) {
	for _, s := range m.steps {
		if s == op {
			n++
		}
	}
	return n
}

func (m *machine) random(p []byte) {
	if len(m.draws) == 0 {
		m.system.random(p)
		return
	}
	copy(p, m.draws[0][:])
	m.draws = m.draws[1:]
}

func (m *machine) pause(d time.Duration) { m.paused = append(m.paused, d) }

func (m *machine) refusalsPass() bool { return m.windows }

func (m *machine) openDir(path string) (d directory, err error) {
	err = m.step("openDir", func() (err error) { d, err = m.system.openDir(path); return err })
	if err != nil {
		if d != nil {
			_ = d.Close()
		}
		return nil, err
	}
	m.opens++
	return machineDir{d, m}, nil
}

func (m *machine) mkdir(path string, mode fs.FileMode) error {
	return m.step("mkdir", func() error { return m.system.mkdir(path, mode) })
}

func (m *machine) openFile(path string) (file, error) {
	return m.opened("openFile", func() (file, error) { return m.system.openFile(path) })
}

func (m *machine) readlink(path string) (target string, err error) {
	err = m.step("readlink", func() (err error) { target, err = m.system.readlink(path); return err })
	return target, err
}

func (m *machine) symlink(target, path string) error {
	return m.step("symlink", func() error { return m.system.symlink(target, path) })
}

func (m *machine) opened(op string, open func() (file, error)) (f file, err error) {
	err = m.step(op, func() (err error) { f, err = open(); return err })
	if err != nil {
		if f != nil {
			_ = f.Close()
		}
		return nil, err
	}
	m.opens++
	return machineFile{f, m}, nil
}

type machineDir struct {
	directory
	m *machine
}

func (d machineDir) Lstat(name string) (info sys.Info, err error) {
	err = d.m.step("lstat", func() (err error) { info, err = d.directory.Lstat(name); return err })
	return info, err
}

func (d machineDir) open(name string) (file, error) {
	return d.m.opened("open", func() (file, error) { return d.directory.open(name) })
}

func (d machineDir) createNew(name string, mode fs.FileMode) (file, error) {
	return d.m.opened("createNew", func() (file, error) {
		if d.m.named != nil {
			if err := d.m.named(name); err != nil {
				return nil, err
			}
		}
		return d.directory.createNew(name, mode)
	})
}

func (d machineDir) replace(from, to string) error {
	return d.m.step("replace", func() error { return d.directory.replace(from, to) })
}

func (d machineDir) remove(name string) error {
	return d.m.step("remove", func() error { return d.directory.remove(name) })
}

func (d machineDir) Sync() error  { return d.m.step("syncDir", synced) }
func (d machineDir) Close() error { return d.m.step("close", d.directory.Close) }

type machineFile struct {
	file
	m *machine
}

func (f machineFile) Stat() (info sys.Info, err error) {
	err = f.m.step("stat", func() (err error) { info, err = f.file.Stat(); return err })
	return info, err
}

func (f machineFile) Read(p []byte) (n int, err error) {
	err = f.m.step("read", func() (err error) { n, err = f.file.Read(p); return err })
	return n, err
}

func (f machineFile) ReadAt(p []byte, offset int64) (n int, err error) {
	err = f.m.step("readAt", func() (err error) { n, err = f.file.ReadAt(p, offset); return err })
	return n, err
}

// Write writes only half of what it is given, if that is much, as a write may.
func (f machineFile) Write(p []byte) (n int, err error) {
	f.m.largest = max(f.m.largest, len(p))
	err = f.m.step("write", func() (err error) { n, err = f.file.Write(p[:f.m.portion(len(p))]); return err })
	return n, err
}

func (m *machine) portion(n int) int {
	if m.stuck {
		return 0
	}
	if n > len(newContent)/2+1 {
		return (n + 1) / 2
	}
	return n
}

func (f machineFile) Chmod(mode fs.FileMode) error {
	return f.m.step("chmod", func() error { return f.file.Chmod(mode) })
}

func (f machineFile) TryLock(exclusive bool) error {
	return f.m.step("tryLock", func() error { return f.file.TryLock(exclusive) })
}

func (f machineFile) Sync() error  { return f.m.step("sync", synced) }
func (f machineFile) Close() error { return f.m.step("close", f.file.Close) }

// synced does nothing: only a power cut would show.
func synced() error { return nil }
