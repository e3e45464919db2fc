package atomicwrite

import (
	"context"
	"errors"
	"io/fs"

	"github.com/holdfast-go/holdfast/filelock"
	"github.com/holdfast-go/holdfast/internal/sys"
)

// ErrUnchanged, returned by the function given to [Update], leaves the file as it is; Update then returns nil.
var ErrUnchanged = errors.New("content unchanged")

// Update replaces the file at path by what fn makes of its content, while holding the file's lock (package filelock), so
// that of several programs that do this, each sees the changes of those before it. If the error is nil, the file has what
// fn returned, as after [WriteFile], whose mode and options apply.
//
// fn gets the whole content and whether there is a file at all: a missing one is nil and false, an empty one is not nil and
// true. The content is read through a symbolic link at path, even if the link itself is to be replaced; what is neither a
// file nor a link, and not refused ([RefuseIrregular]), counts as missing. fn runs at most once, and should be quick: others
// wait. It must not update the same path.
//
// The lock is path + ".lock", also with [FollowSymlink]: programs that reach one file by two links do not keep each other
// out. How long to wait for it, and more, is set by [Locking]; by default 2 s. The end of ctx ends the waiting; if ctx has
// ended when fn returns, nothing is replaced.
//
// The errors, with path as it was before:
//   - fn's own error, as it is. If fn panics, the lock is released and the panic goes on.
//   - those of filelock.With: the lock could not be had, and fn did not run. Only missing directories were made.
//   - one that matches filelock.ErrLost: the lock was lost while fn ran, which is looked for once more directly before the
//     replacement. If it is lost between that look and the rename, or afterwards, the error comes as well and the content
//     is in place.
//   - an *[Error]: reading or replacing failed, as with [ReadFile] and [WriteFile]; or the directory was moved during the
//     wait for the lock, and path leads to another one, whose lock we do not have.
func Update(ctx context.Context, path string, mode fs.FileMode, fn func(old []byte, exists bool) ([]byte, error), opts ...Option) error {
	r := replacement{sys: osSystem{}, opt: newOptions(opts), path: path, stated: mode}
	if err := r.makeParent(); err != nil {
		return err
	}
	var own error
	err := filelock.With(ctx, path, func(ctx context.Context, l *filelock.Lock) error {
		r.check = func() error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return l.Check()
		}
		own = update(r, fn)
		return own
	}, r.opt.locking...)
	if e, ok := own.(*Error); ok && e.Op == opCheck && errors.Is(e, filelock.ErrLost) {
		return e // and not once more what With found of the same loss
	}
	return err
}

// update reads, asks fn and replaces.
func update(r replacement, fn func(old []byte, exists bool) ([]byte, error)) error {
	if err := r.find(); err != nil {
		return err
	}
	defer r.leave()
	old, exists, err := r.old()
	if err != nil {
		return err
	}
	next, err := fn(old, exists)
	switch {
	case errors.Is(err, ErrUnchanged):
		return nil
	case err != nil:
		return err
	}
	return r.put(next)
}

// makeParent makes the directory that the lock and, unless it is a link, the file lie in.
func (r *replacement) makeParent() error {
	where, _, ok := split(r.path)
	if !ok {
		return r.failure(opPath, "", ErrInvalidPath)
	}
	if err := r.enter(where, true); err != nil {
		return err
	}
	if id, err := r.dir.ID(); err == nil {
		r.home = &id
	}
	r.leave()
	return nil
}

// old reads what lies at the target, through a link if it is one.
func (r *replacement) old() (data []byte, exists bool, err error) {
	if r.was.Mode&fs.ModeSymlink != 0 {
		return r.oldReferent()
	}
	if !r.was.Regular() {
		return nil, false, nil
	}
	err = persist(r.sys, func() error {
		f, err := r.dir.open(r.base)
		if err != nil {
			return err
		}
		defer f.Close()
		data, err = readAll(f)
		return err
	})
	switch {
	case sys.IsKind(err, sys.NotExist):
		return nil, false, nil
	case err != nil:
		return nil, false, r.failure(opRead, "", err)
	}
	return data, true, nil
}

func (r *replacement) oldReferent() ([]byte, bool, error) {
	end := replacement{sys: r.sys, opt: r.opt, path: r.path, home: r.home}
	end.opt.follow = true
	if err := end.find(); err != nil {
		if sys.IsKind(err, sys.NotExist) {
			return nil, false, nil
		}
		return nil, false, err
	}
	defer end.leave()
	return end.old()
}
