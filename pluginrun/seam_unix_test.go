//go:build unix

package pluginrun

import (
	"context"
	"io"
	"io/fs"

	"github.com/holdfast-go/holdfast/atomicwrite"
	"github.com/holdfast-go/holdfast/filelock"
	"github.com/holdfast-go/holdfast/internal/sys"
)

// stepped is the real machine, with something that happens before and after each step: an error before keeps the step from
// being taken, one after it hides that it was.
type stepped struct {
	osSystem
	on func(step string, after bool) error
}

func (s stepped) step(name string, take func() error) error {
	if err := s.on(name, false); err != nil {
		return err
	}
	if err := take(); err != nil {
		return err
	}
	return s.on(name, true)
}

func (s stepped) makeDir(path string, perm fs.FileMode) error {
	return s.step("makeDir", func() error { return s.osSystem.makeDir(path, perm) })
}

func (s stepped) identify(dir string) (id sys.FileID, err error) {
	err = s.step("identify", func() error { id, err = s.osSystem.identify(dir); return err })
	return id, err
}

func (s stepped) lock(ctx context.Context, path string, opts []filelock.Option) (l lock, err error) {
	err = s.step("lock", func() error { l, err = s.osSystem.lock(ctx, path, opts); return err })
	if err != nil && l != nil {
		l.Release()
		return nil, err
	}
	return l, err
}

func (s stepped) openRecord(dir string) (r recordFile, err error) {
	err = s.step("openRecord", func() error { r, err = s.osSystem.openRecord(dir); return err })
	return r, err
}

func (s stepped) writeRecord(dir string, r recordedRun, start uint64) (id recordID, err error) {
	err = s.step("writeRecord", func() error { id, err = s.osSystem.writeRecord(dir, r, start); return err })
	if err != nil {
		id.close()
		return recordID{}, err
	}
	return id, nil
}

func (s stepped) removeRecord(dir string, id recordID) error {
	return s.step("removeRecord", func() error { return s.osSystem.removeRecord(dir, id) })
}

func (s stepped) lstat(path string) (info sys.Info, err error) {
	err = s.step("lstat", func() error { info, err = s.osSystem.lstat(path); return err })
	return info, err
}

func (s stepped) readFile(path string) (data []byte, err error) {
	err = s.step("readFile", func() error { data, err = s.osSystem.readFile(path); return err })
	return data, err
}

func (s stepped) writeFile(path string, data []byte, exactly fs.FileMode, opts ...atomicwrite.Option) error {
	return s.step("writeFile", func() error { return s.osSystem.writeFile(path, data, exactly, opts...) })
}

func (s stepped) remove(path string, durably bool) error {
	return s.step("remove", func() error { return s.osSystem.remove(path, durably) })
}

func (s stepped) removeDir(path string) error {
	return s.step("removeDir", func() error { return s.osSystem.removeDir(path) })
}

func (s stepped) syncDir(path string) error {
	return s.step("syncDir", func() error { return s.osSystem.syncDir(path) })
}

func (s stepped) rename(from, to string) error {
	return s.step("rename", func() error { return s.osSystem.rename(from, to) })
}

func (s stepped) list(dir string) (names []string, err error) {
	err = s.step("list", func() error { names, err = s.osSystem.list(dir); return err })
	return names, err
}

func (s stepped) createLog(path string) (w io.WriteCloser, err error) {
	err = s.step("createLog", func() error { w, err = s.osSystem.createLog(path); return err })
	if err != nil && w != nil {
		w.Close()
		return nil, err
	}
	return w, err
}

func (s stepped) start(what start) (p process, err error) {
	err = s.step("start", func() error { p, err = s.osSystem.start(what); return err })
	if err != nil && p != nil {
		p.abandon()
		p.close()
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	return steppedProcess{p, s}, nil
}

type steppedProcess struct {
	process
	s stepped
}

func (p steppedProcess) open() error {
	err := p.s.on("open", false)
	if err != nil {
		p.abandon()
		return err
	}
	if err := p.process.open(); err != nil {
		return err
	}
	_ = p.s.on("open", true) // its effect cannot be hidden: whoever waits for the answer has it when the program runs
	return nil
}
