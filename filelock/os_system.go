package filelock

import (
	"context"
	"crypto/rand"
	"io/fs"
	"runtime"
	"time"

	"github.com/holdfast-go/holdfast/internal/sys"
)

// osSystem is the real machine.
type osSystem struct{}

func (osSystem) self() sys.Self                   { return sys.Me() }
func (osSystem) probe(pid int) sys.Process        { return sys.Probe(pid) }
func (osSystem) describe(pid int) sys.Description { return sys.Describe(pid) }
func (osSystem) now() time.Time                   { return time.Now() }
func (osSystem) random(p []byte)                  { rand.Read(p) }
func (osSystem) namesLinger() bool                { return runtime.GOOS == "windows" }

func (osSystem) watchExit(pid int, wake func()) (func(), error) { return sys.WatchExit(pid, wake) }

func (osSystem) after(d time.Duration, f func()) timer { return time.AfterFunc(d, f) }

func (osSystem) openDir(path string) (directory, error) {
	d, err := sys.OpenDir(path)
	if err != nil {
		return nil, err
	}
	return osDir{d}, nil
}

func (osSystem) pause(ctx context.Context, d time.Duration, wake <-chan struct{}) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-wake:
	case <-ctx.Done():
	}
	return context.Cause(ctx) // also if it ended before we came to see that something else had happened
}

// osDir gives the calls that pass files the seam's types.
type osDir struct{ *sys.Dir }

func (d osDir) open(name string) (file, error) { return opened(d.Open(name)) }

func (d osDir) createUnnamed(perm fs.FileMode) (file, error) { return opened(d.CreateUnnamed(perm)) }

func (d osDir) createNew(name string, perm fs.FileMode) (file, error) {
	return opened(d.CreateNew(name, perm))
}

func (d osDir) linkUnnamed(f file, name string) error { return d.LinkUnnamed(f.(*sys.File), name) }

func (d osDir) moveNew(f file, from, to string) error { return d.MoveNew(f.(*sys.File), from, to) }

func (d osDir) replace(f file, from, to string) error { return d.Replace(f.(*sys.File), from, to) }

func (d osDir) remove(name string, f file) error { return d.Remove(name, f.(*sys.File)) }

func (d osDir) watch(name string, wake func()) (func(), error) { return d.Watch(name, wake) }

func opened(f *sys.File, err error) (file, error) {
	if err != nil {
		return nil, err
	}
	return f, nil
}
