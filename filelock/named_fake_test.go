//go:build unix

package filelock

import (
	"context"
	"io/fs"
	"os"
	"time"

	"github.com/holdfast-go/holdfast/internal/sys"
)

// namedFake is a machine each of whose steps can be failed, and that does not name the holders of kernel locks.
type namedFake struct {
	namedSystem
	on      func(op string) error // an error stands for the call's own
	virtual bool                  // pauses take no time but count
	passed  time.Duration
}

// failing is a machine on which on says what fails.
func failing(place string, on func(op string) error) namedFiles {
	return namedFiles{&namedFake{namedSystem: osSystem{}, on: on}, place, uint32(os.Geteuid())}
}

func (n *namedFake) do(op string) error {
	if n.on == nil {
		return nil
	}
	return n.on(op)
}

func (n *namedFake) lockedBy(sys.FileID) []int { return nil }

func (n *namedFake) now() time.Time { return time.Now().Add(n.passed) }

func (n *namedFake) pause(ctx context.Context, d time.Duration, wake <-chan struct{}) error {
	if n.virtual {
		n.passed += d
		return nil
	}
	return n.namedSystem.pause(ctx, d, wake)
}

func (n *namedFake) openShared(path string) (namedDir, error) {
	if err := n.do("openShared"); err != nil {
		return nil, err
	}
	return n.dir(n.namedSystem.openShared(path))
}

func (n *namedFake) dir(d namedDir, err error) (namedDir, error) {
	if err != nil {
		return nil, err
	}
	return namedFakeDir{d, n}, nil
}

func (n *namedFake) file(op string, open func() (namedFile, error)) (namedFile, error) {
	if err := n.do(op); err != nil {
		return nil, err
	}
	f, err := open()
	if err != nil {
		return nil, err
	}
	return namedFakeFile{f, n}, nil
}

type namedFakeDir struct {
	namedDir
	n *namedFake
}

func (d namedFakeDir) Lstat(name string) (sys.Info, error) {
	if err := d.n.do("lstat"); err != nil {
		return sys.Info{}, err
	}
	return d.namedDir.Lstat(name)
}

func (d namedFakeDir) MakeDir(name string, perm fs.FileMode) error {
	if err := d.n.do("makeDir"); err != nil {
		return err
	}
	return d.namedDir.MakeDir(name, perm)
}

func (d namedFakeDir) openDir(name string) (namedDir, error) {
	if err := d.n.do("openDir"); err != nil {
		return nil, err
	}
	return d.n.dir(d.namedDir.openDir(name))
}

func (d namedFakeDir) openWrite(name string) (namedFile, error) {
	return d.n.file("openWrite", func() (namedFile, error) { return d.namedDir.openWrite(name) })
}

func (d namedFakeDir) createUnnamed(perm fs.FileMode) (namedFile, error) {
	return d.n.file("createUnnamed", func() (namedFile, error) { return d.namedDir.createUnnamed(perm) })
}

func (d namedFakeDir) createNew(name string, perm fs.FileMode) (namedFile, error) {
	return d.n.file("createNew", func() (namedFile, error) { return d.namedDir.createNew(name, perm) })
}

func (d namedFakeDir) linkUnnamed(f namedFile, name string) error {
	if err := d.n.do("linkUnnamed"); err != nil {
		return err
	}
	return d.namedDir.linkUnnamed(f.(namedFakeFile).namedFile, name)
}

func (d namedFakeDir) moveNew(from, to string) error {
	if err := d.n.do("moveNew"); err != nil {
		return err
	}
	return d.namedDir.moveNew(from, to)
}

type namedFakeFile struct {
	namedFile
	n *namedFake
}

func (f namedFakeFile) Stat() (sys.Info, error) {
	if err := f.n.do("stat"); err != nil {
		return sys.Info{}, err
	}
	return f.namedFile.Stat()
}

func (f namedFakeFile) Chmod(perm fs.FileMode) error {
	if err := f.n.do("setMode"); err != nil {
		return err
	}
	return f.namedFile.Chmod(perm)
}

func (f namedFakeFile) SetGroup(gid uint32) error {
	if err := f.n.do("setGroup"); err != nil {
		return err
	}
	return f.namedFile.SetGroup(gid)
}

func (f namedFakeFile) WriteAt(p []byte, offset int64) (int, error) {
	if err := f.n.do("write"); err != nil {
		return 0, err
	}
	return f.namedFile.WriteAt(p, offset)
}

func (f namedFakeFile) Truncate(size int64) error {
	if err := f.n.do("write"); err != nil {
		return err
	}
	return f.namedFile.Truncate(size)
}

func (f namedFakeFile) TryLock(exclusive bool) error {
	if err := f.n.do("tryLock"); err != nil {
		return err
	}
	return f.namedFile.TryLock(exclusive)
}

func (f namedFakeFile) WatchClose(wake func()) (stop func(), err error) {
	if err := f.n.do("watch"); err != nil {
		return nil, err
	}
	end, err := f.namedFile.WatchClose(wake)
	return func() { _ = f.n.do("unwatch"); end() }, err
}

func (f namedFakeFile) Close() error {
	if err := f.n.do("close"); err != nil {
		return err
	}
	return f.namedFile.Close()
}
