package atomicwrite

import (
	"crypto/rand"
	"io/fs"
	"os"
	"time"

	"github.com/holdfast-go/holdfast/internal/sys"
)

// osSystem is the real machine.
type osSystem struct{}

func (osSystem) random(p []byte)       { rand.Read(p) }
func (osSystem) pause(d time.Duration) { time.Sleep(d) }
func (osSystem) refusalsPass() bool    { return refusalsPass }

func (osSystem) openDir(path string) (directory, error) {
	d, err := sys.OpenDir(path)
	if err != nil {
		return nil, err
	}
	return osDir{d}, nil
}

func (osSystem) mkdir(path string, mode fs.FileMode) error { return bare(os.Mkdir(path, mode)) }

func (osSystem) openFile(path string) (file, error) { return opened(sys.OpenFile(path)) }

func (osSystem) readlink(path string) (string, error) {
	target, err := os.Readlink(path)
	return target, bare(err)
}

// osDir gives the calls that pass files the seam's types.
type osDir struct{ *sys.Dir }

func (d osDir) open(name string) (file, error) { return opened(d.Open(name)) }

func (d osDir) createNew(name string, mode fs.FileMode) (file, error) {
	return opened(d.CreateNew(name, mode))
}

func (d osDir) replace(from, to string) error { return d.Replace(nil, from, to) }

func (d osDir) remove(name string) error { return d.Remove(name, nil) }

func opened(f *sys.File, err error) (file, error) {
	if err != nil {
		return nil, err
	}
	return f, nil
}

// bare takes the system's error out of package os's wrapping, which repeats the path.
func bare(err error) error {
	switch e := err.(type) {
	case *fs.PathError:
		return e.Err
	case *os.LinkError:
		return e.Err
	}
	return err
}
