package atomicwrite

import (
	"fmt"
	"io/fs"

	"github.com/holdfast-go/holdfast/internal/sys"
)

// mostLinks is how long a chain of links may be, as on Linux.
const mostLinks = 40

// find goes from named to found: the directory is open, and what lies at the target is known and may be replaced. With
// FollowSymlink the target is the end of the chain of links that begins at the path.
func (r *replacement) find() error {
	path := r.path
	for links := 0; ; links++ {
		where, base, ok := split(path)
		switch {
		case !ok && links == 0:
			return r.failure(opPath, "", ErrInvalidPath)
		case !ok: // a referent that ends in a separator, "." or "..": nothing but a directory can lie there
			return r.failure(opRefuse, path, ErrIsDirectory)
		case lengthOf(base) > longestName:
			return r.failure(opPath, "", ErrNameTooLong)
		}
		if err := r.enter(where, links == 0 && r.home == nil); err != nil {
			return err
		}
		if links == 0 && !r.atHome() {
			r.leave()
			return r.failure(opOpenDir, where, errMoved)
		}
		r.base = base
		if err := r.look(); err != nil {
			r.leave()
			return err
		}
		if !r.opt.follow || r.was.Mode&fs.ModeSymlink == 0 {
			return r.permit()
		}
		r.leave()
		link := inside(where, base)
		if links == mostLinks {
			return r.failure(opFollow, link, ErrLoop)
		}
		target, err := r.sys.readlink(link)
		if err != nil {
			return r.failure(opFollow, link, err)
		}
		path = beside(where, target)
	}
}

// atHome reports whether the directory is the one in which the lock was taken: another one's file has another lock. Where
// directories cannot be told apart it counts as that.
func (r *replacement) atHome() bool {
	if r.home == nil {
		return true
	}
	id, err := r.dir.ID()
	return err != nil || id == *r.home
}

// enter opens the directory, after making it if it is missing.
func (r *replacement) enter(where string, make bool) error {
	d, err := r.sys.openDir(where)
	if make && sys.IsKind(err, sys.NotExist) {
		if err := r.makeDir(where); err != nil {
			return err
		}
		d, err = r.sys.openDir(where)
	}
	if err != nil {
		return r.failure(opOpenDir, where, err)
	}
	r.dir, r.where = d, where
	return nil
}

// makeDir makes a directory and those above it that are missing. Each entry is made durable before the next is made in
// it. One that another process makes at this moment is left to that process to sync: after a power cut directly after our
// return it may be missing, if that process was killed before its own sync.
func (r *replacement) makeDir(path string) error {
	err := r.sys.mkdir(path, r.opt.parentMode)
	if up := parent(path); up != path && sys.IsKind(err, sys.NotExist) {
		if err := r.makeDir(up); err != nil {
			return err
		}
		err = r.sys.mkdir(path, r.opt.parentMode)
	}
	switch {
	case err != nil && r.reachable(path): // made by another, or on a file system that refuses before it looks
		return nil
	case err != nil:
		return r.failure(opMakeDir, path, err)
	case r.opt.sync == SyncAll:
		return r.syncDir(parent(path))
	}
	return nil
}

func (r *replacement) reachable(dir string) bool {
	d, err := r.sys.openDir(dir)
	if err != nil {
		return false
	}
	_ = d.Close()
	return true
}

func (r *replacement) syncDir(path string) error {
	d, err := r.sys.openDir(path)
	if err != nil {
		return r.failure(opOpenDir, path, err)
	}
	defer d.Close()
	if err := settled(d.Sync()); err != nil {
		return r.failure(opSyncDir, path, err)
	}
	return nil
}

// look learns what lies at the target.
func (r *replacement) look() error {
	var err error
	r.was, err = r.dir.Lstat(r.base)
	r.exists = err == nil
	if err == nil || sys.IsKind(err, sys.NotExist) {
		return nil
	}
	return r.failure(opLook, inside(r.where, r.base), err)
}

// permit refuses what a file must not replace.
func (r *replacement) permit() error {
	mode := r.was.Mode // 0, as of a regular file, for nothing
	switch {
	case mode.IsDir():
		r.leave()
		return r.failure(opRefuse, "", ErrIsDirectory)
	case mode.IsRegular(), mode&fs.ModeSymlink != 0, !r.opt.refuse:
		return nil
	default:
		r.leave()
		return r.failure(opRefuse, "", fmt.Errorf("%w but %s", ErrIrregular, nature(mode)))
	}
}

// nature names what a file is that is not regular.
func nature(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "of an unknown kind"
}
