package atomicwrite

import (
	"bytes"

	"github.com/holdfast-go/holdfast/internal/sys"
)

// content is what is about to be written: in memory, or in the temp.
type content interface {
	size() int64
	ReadAt(p []byte, offset int64) (int, error)
}

type memory []byte

func (m memory) size() int64 { return int64(len(m)) }

func (m memory) ReadAt(p []byte, offset int64) (int, error) { return copy(p, m[offset:]), nil }

// unchanged reports whether the target has this content already, and nothing else is to be done but making it durable,
// which is done here. What cannot be found out counts as changed.
func (r *replacement) unchanged(c content) bool {
	if !r.was.Regular() || r.was.Size != c.size() || !r.modeFits() {
		return false
	}
	f, err := r.dir.open(r.base)
	if err != nil {
		return false
	}
	defer f.Close()
	now, err := f.Stat()
	if err != nil || now.ID != r.was.ID || !equal(f, c) {
		return false
	}
	// A file that is open for reading cannot be synced on Windows.
	if r.opt.sync != SyncNone {
		if err := f.Sync(); err != nil && !sys.IsKind(err, sys.NotPermitted) {
			return false
		}
	}
	return r.opt.sync != SyncAll || settled(r.dir.Sync()) == nil
}

// modeFits reports whether the target's mode is what a new file's would be, as far as that is known without the umask:
// exactly that, or not wider.
func (r *replacement) modeFits() bool {
	mode, exact := r.mode()
	switch {
	case r.opt.keepMode:
		return true
	case exact:
		return (r.was.Mode^mode)&modeKept == 0
	default:
		return r.was.Mode&^mode&modeKept == 0
	}
}

// equal compares what f has with c, up to the end of both.
func equal(f file, c content) bool {
	const chunk = 32 << 10
	have := make([]byte, min(c.size()+1, chunk))
	want := make([]byte, len(have))
	for offset := int64(0); ; {
		n, err := f.Read(have)
		if err != nil {
			return false
		}
		if n == 0 {
			return offset == c.size()
		}
		if !filled(c, want[:n], offset) || !bytes.Equal(have[:n], want[:n]) {
			return false
		}
		offset += int64(n)
	}
}

// filled fills p with what c has at offset, and reports whether c has as much.
func filled(c content, p []byte, offset int64) bool {
	for len(p) > 0 && offset <= c.size() {
		n, err := c.ReadAt(p, offset)
		if err != nil || n == 0 {
			return false
		}
		p, offset = p[n:], offset+int64(n)
	}
	return len(p) == 0
}
