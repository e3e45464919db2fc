package atomicwrite

import "io/fs"

// Create begins to replace the file at path by one that is written bit by bit; nothing at path changes until Commit. The
// mode, the options and the errors are those of [WriteFile]. If err is nil, a temporary file exists until Commit or Close:
//
//	w, err := atomicwrite.Create(path, 0o666)
//	if err != nil {
//		return err
//	}
//	defer w.Close()
//	if err := render(w); err != nil {
//		return err
//	}
//	return w.Commit()
func Create(path string, mode fs.FileMode, opts ...Option) (*Writer, error) {
	return create(osSystem{}, path, mode, newOptions(opts))
}

// Writer is a replacement under way. It is not for use by several goroutines at once, and must be closed: nothing else
// closes or removes its temporary file, not even when it is dropped.
type Writer struct {
	r       replacement
	written int64
	err     error // the write that failed
	over    bool  // committed, closed or failed
}

func create(s system, path string, mode fs.FileMode, o options) (*Writer, error) {
	w := &Writer{r: replacement{sys: s, opt: o, path: path, stated: mode}}
	if err := w.r.find(); err != nil {
		return nil, err
	}
	if err := w.r.begin(); err != nil {
		w.r.leave()
		return nil, err
	}
	return w, nil
}

// Write appends all of p, or fails. A failed Write abandons the replacement: the temporary file is removed, later calls of
// Write and Commit return the same error. After Commit or Close the error matches fs.ErrClosed.
func (w *Writer) Write(p []byte) (int, error) {
	if err := w.usable(opWrite); err != nil {
		return 0, err
	}
	if err := w.r.write(p); err != nil {
		w.err = err
		w.end()
		return 0, err
	}
	w.written += int64(len(p))
	return len(p), nil
}

// Commit publishes what was written, as WriteFile does: if the error is nil, readers see it and it survives a power cut
// ([Sync]). After an error the writer is abandoned, and unless the error's Replaced is true the path has what it had
// before. A second Commit, or one after Close, fails with fs.ErrClosed and changes nothing.
func (w *Writer) Commit() error {
	if err := w.usable(opRename); err != nil {
		return err
	}
	defer w.end()
	if w.r.opt.ifChanged && w.r.unchanged(temp{w.r.file, w.written}) {
		return w.abandon()
	}
	return w.r.publish()
}

// Close abandons what was written, unless it was committed: the temporary file is removed and the path keeps what it has.
// After Commit, and when called again, it does nothing and returns nil; so it can be deferred right after Create. The only
// error is that the temporary file could not be removed.
func (w *Writer) Close() error {
	if w.over {
		return nil
	}
	defer w.end()
	return w.abandon()
}

func (w *Writer) usable(op string) error {
	switch {
	case w.err != nil:
		return w.err
	case w.over:
		return w.r.failure(op, "", fs.ErrClosed)
	}
	return nil
}

func (w *Writer) abandon() error {
	e := w.r.failure(opRemove, "", nil)
	w.r.discard(e)
	if e.Temp == "" {
		return nil
	}
	e.Err = e.left
	return e
}

func (w *Writer) end() {
	w.over = true
	w.r.leave()
}

// temp is the content of the temp, which is open for reading too.
type temp struct {
	file
	written int64
}

func (t temp) size() int64 { return t.written }
