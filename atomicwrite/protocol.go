package atomicwrite

import (
	"io/fs"

	"github.com/holdfast-go/holdfast/internal/sys"
)

// A replacement goes through these states, in this order only. On the right, what is on disk.
//
//	named      find                          nothing of ours, except parent directories
//	found      create O_EXCL, kernel lock    the directory is open, the target was looked at
//	born       write, as often as needed     an incomplete temp, its mode the final one less the umask
//	written    chmod if exact, sync, close   a complete temp
//	complete   (lock still ours?) rename     a complete, durable temp with its final mode
//	visible    sync the directory            the new file at the path, no temp
//	durable                                  the same, after a power cut too
//
// A failing step before the rename leads to
//
//	abandoned                                the old file, no temp (or one that the error names)
//
// and nothing leads out of it, nor from visible back. A failing rename is asked what it did: temp removed, abandoned;
// temp gone and another file at the path, visible, as network file systems let it happen that lose a reply. A process
// that is killed leaves what stands on the right.
type replacement struct {
	sys    system
	opt    options
	path   string      // as the caller gave it
	stated fs.FileMode // the mode that the caller stated
	check  func() error
	home   *sys.FileID // the directory that the path must lead to, if the lock was taken in it

	dir    directory // open from found to the end
	where  string    // its path
	base   string    // the target's name in it
	was    sys.Info  // what lay there when we looked; zero for nothing
	exists bool

	temp string // its name, from born on
	file file   // the open temp, from born until complete
}

func writeFile(s system, path string, data []byte, mode fs.FileMode, o options) error {
	r := replacement{sys: s, opt: o, path: path, stated: mode}
	if err := r.find(); err != nil {
		return err
	}
	defer r.leave()
	return r.put(data)
}

// put goes from found to durable.
func (r *replacement) put(data []byte) error {
	if r.opt.ifChanged && r.unchanged(memory(data)) {
		return nil
	}
	if err := r.begin(); err != nil {
		return err
	}
	if err := r.write(data); err != nil {
		return err
	}
	return r.publish()
}

// begin creates the temp, under another name if the one that was drawn is taken. It is locked so that others can tell
// the temp of a live writer from that of a killed one; where there are no such locks it is an ordinary file.
func (r *replacement) begin() error {
	mode, _ := r.mode()
	limit := longestName
	var drawn [tempRandom]byte
	var err error
	for range tempAttempts {
		r.sys.random(drawn[:])
		name := tempName(r.base, drawn, limit, lengthOf)
		if r.file, err = r.dir.createNew(name, mode); err == nil {
			r.temp = name
			_ = r.file.TryLock(true)
			return nil
		}
		switch {
		case sys.IsKind(err, sys.Exists):
		case sys.IsKind(err, sys.NameTooLong) && limit > lengthOf(r.base):
			limit = lengthOf(r.base) // a file system with a lower limit, which this length is known to be within
		default:
			return r.unborn(name, err)
		}
	}
	return r.failure(opCreate, r.where, err)
}

// unborn reports a create that failed. An I/O error may hide that it took effect: only then the name is ours to remove.
func (r *replacement) unborn(name string, err error) error {
	e := r.failure(opCreate, r.where, err)
	if sys.IsKind(err, sys.IO, sys.Other) {
		r.temp = name
		r.discard(e)
	}
	return e
}

// mode is the new file's mode, and whether it is exact or subject to the umask. What a link shows as its own mode is
// nobody's choice and not kept.
func (r *replacement) mode() (mode fs.FileMode, exact bool) {
	if r.opt.keepMode && r.exists && r.was.Regular() {
		return r.was.Mode.Perm(), true
	}
	return r.stated, r.opt.exactMode
}

// mostAtOnce bytes are written by one call: macOS refuses 2 GiB, Windows counts in 32 bits.
const mostAtOnce = 1 << 30

// write appends all of data to the temp.
func (r *replacement) write(data []byte) error {
	for len(data) > 0 {
		n, err := r.file.Write(data[:min(len(data), mostAtOnce)])
		if err == nil && n == 0 {
			err = sys.IO
		}
		if err != nil {
			return r.abandon(opWrite, err)
		}
		data = data[n:]
	}
	return nil
}

// publish goes from written to durable. The mode is set after the last write, which may clear set-id bits.
func (r *replacement) publish() error {
	if r.opt.keepMode {
		if err := r.lookAgain(); err != nil {
			return err
		}
	}
	if mode, exact := r.mode(); exact {
		if err := r.file.Chmod(mode); err != nil {
			return r.abandon(opChmod, err)
		}
	}
	if r.opt.sync != SyncNone {
		if err := r.file.Sync(); err != nil {
			return r.abandon(opSync, err)
		}
	}
	err := r.file.Close()
	r.file = nil
	if err != nil {
		return r.abandon(opClose, err)
	}
	if err := r.rename(); err != nil {
		return err
	}
	if r.opt.sync == SyncAll {
		if err := settled(r.dir.Sync()); err != nil {
			e := r.failure(opSyncDir, r.where, err)
			e.Replaced = true
			return e
		}
	}
	return nil
}

// lookAgain learns the mode that is to be kept: it may have been changed while the content was made. What is no regular file
// any more has none, and the one that was seen first is kept.
func (r *replacement) lookAgain() error {
	now, err := r.dir.Lstat(r.base)
	switch {
	case err == nil && now.Regular():
		r.was, r.exists = now, true
	case err != nil && !sys.IsKind(err, sys.NotExist):
		return r.abandon(opLook, err)
	}
	return nil
}

// rename puts the temp in the target's place; a check, if there is one, comes directly before each try.
func (r *replacement) rename() error {
	var lost error
	err := persist(r.sys, func() error {
		if r.check != nil {
			if lost = r.check(); lost != nil {
				return nil
			}
		}
		return r.dir.replace(r.temp, r.base)
	})
	if lost != nil {
		return r.abandon(opCheck, lost)
	}
	if err == nil {
		return nil
	}
	e := r.failure(opRename, "", err)
	if gone := r.discard(e); gone {
		e.Replaced = r.visible()
	}
	return e
}

// visible reports whether the name has another file than when we looked. If that cannot be seen it has: nobody but the
// rename takes a temp away.
func (r *replacement) visible() bool {
	now, err := r.dir.Lstat(r.base)
	if err != nil {
		return !sys.IsKind(err, sys.NotExist)
	}
	return now.ID != r.was.ID
}

// abandon ends a replacement before its rename, because of err.
func (r *replacement) abandon(op string, err error) error {
	e := r.failure(op, "", err)
	r.discard(e)
	return e
}

// discard closes and removes the temp and reports whether it was gone already. One that is not known to be gone afterwards
// is named in e.
func (r *replacement) discard(e *Error) (gone bool) {
	if r.file != nil {
		_ = r.file.Close()
	}
	err := r.dir.remove(r.temp)
	gone = sys.IsKind(err, sys.NotExist)
	if err != nil && !gone {
		_, look := r.dir.Lstat(r.temp)
		gone = sys.IsKind(look, sys.NotExist)
	}
	if err != nil && !gone {
		e.Temp, e.left = inside(r.where, r.temp), err
	}
	return gone
}

// leave closes the directory.
func (r *replacement) leave() { _ = r.dir.Close() }

func (r *replacement) failure(op, object string, err error) *Error {
	return &Error{Op: op, Path: r.path, object: object, Err: err}
}

// settled is nil for what a file system answers that cannot sync a directory.
func settled(err error) error {
	if sys.IsKind(err, sys.Invalid, sys.Unsupported) {
		return nil
	}
	return err
}
