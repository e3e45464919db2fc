//go:build unix

package filelock

import (
	"io/fs"
	"math"
	"os/user"
	"runtime"
	"strconv"

	"github.com/holdfast-go/holdfast/internal/sys"
)

func osNamed() namedMachine { return namedFiles{osSystem{}, namedBase(runtime.GOOS), 0} }

func (osSystem) openShared(path string) (namedDir, error) { return openedDir(sys.OpenDir(path)) }

func (osSystem) user() uint32 { return sys.EffectiveUser() }

// groupID is the number of a group by its name, or by the number itself.
func (osSystem) groupID(group string) (uint32, error) {
	if id, err := strconv.ParseUint(group, 10, 32); err == nil && id != math.MaxUint32 { // the last one is nobody's: chown leaves the group as it is
		return uint32(id), nil
	}
	g, err := user.LookupGroup(group)
	if err != nil {
		return 0, err
	}
	id, err := strconv.ParseUint(g.Gid, 10, 32)
	return uint32(id), err
}

// osNamedDir gives the calls that pass files and directories the seam's types.
type osNamedDir struct{ *sys.Dir }

func (d osNamedDir) openDir(name string) (namedDir, error) { return openedDir(d.OpenDir(name)) }

func (d osNamedDir) openWrite(name string) (namedFile, error) { return openedNamed(d.OpenWrite(name)) }

func (d osNamedDir) createUnnamed(perm fs.FileMode) (namedFile, error) {
	return openedNamed(d.CreateUnnamed(perm))
}

func (d osNamedDir) linkUnnamed(f namedFile, name string) error {
	return d.LinkUnnamed(f.(*sys.File), name)
}

func (d osNamedDir) createNew(name string, perm fs.FileMode) (namedFile, error) {
	return openedNamed(d.CreateNew(name, perm))
}

func (d osNamedDir) moveNew(from, to string) error { return d.MoveNew(nil, from, to) }

func (d osNamedDir) remove(name string) error { return d.Remove(name, nil) }

func openedDir(d *sys.Dir, err error) (namedDir, error) {
	if err != nil {
		return nil, err
	}
	return osNamedDir{d}, nil
}

func openedNamed(f *sys.File, err error) (namedFile, error) {
	if err != nil {
		return nil, err
	}
	return f, nil
}
