//go:build unix

package filelock

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// owner is what the holder of a named lock writes of itself into the lock's file, and takes out when it releases the lock.
// It is there for two readers: the next holder, who finds it if there was no release, and people, who ask who has the lock.
// Nothing is decided by what it says: that the lock is free is the kernel's word, and that there was no release is said by
// there being a record at all.
type owner struct {
	pid      int    // 0 if unknown
	pidSpace uint32 // the pid namespace that the number is of, as in sys.Self
	since    time.Time
}

// Every content of a lock's file but none at all has this size, and is written in one piece: whoever reads it sees one of
// them.
const ownerSize = 128

func (o owner) content() []byte {
	return line(fmt.Sprintf("held by process %d of pid namespace %d since %s", o.pid, o.pidSpace, o.since.UTC().Format(time.RFC3339Nano)))
}

// noOwner is the content after a release, on a disk.
func noOwner() []byte { return blank }

var blank = line("")

func line(text string) []byte { return fmt.Appendf(nil, "%-*s\n", ownerSize-1, text) }

var errNotOurs = errors.New("its content is not that of a named lock")

// parseOwner reads the content of a lock's file: nil is no owner, an error is what no holder has written. All zeros are what
// a power cut makes of any content: an owner of whom nothing is known.
func parseOwner(content []byte) (*owner, error) {
	switch {
	case len(content) == 0 || bytes.Equal(content, noOwner()):
		return nil, nil
	case len(content) != ownerSize:
		return nil, errNotOurs
	case len(bytes.Trim(content, "\x00")) == 0:
		return &owner{}, nil
	}
	f := strings.Fields(string(content))
	if len(f) != 10 {
		return nil, errNotOurs
	}
	pid, err1 := strconv.ParseUint(f[3], 10, 31)
	space, err2 := strconv.ParseUint(f[7], 10, 32)
	since, err3 := time.Parse(time.RFC3339Nano, f[9])
	o := owner{int(pid), uint32(space), since}
	if errors.Join(err1, err2, err3) != nil || !bytes.Equal(o.content(), content) {
		return nil, errNotOurs
	}
	return &o, nil
}

// ownedFile is a named lock's file as the kernel lock's protocol has it: its metadata is what the owner record says, and who
// gives up the lock has taken the record out.
type ownedFile struct {
	namedFile
	space uint32 // our pid namespace
	ours  bool   // the record in it is ours
	left  error  // why ours could not be taken out
}

func (f *ownedFile) owner() (*owner, error) {
	var buf [ownerSize + 1]byte
	n, err := readFull(f.namedFile, buf[:])
	if err != nil {
		return nil, err
	}
	return parseOwner(buf[:n])
}

func (f *ownedFile) own(o owner) error {
	err := f.write(o.content())
	f.ours = err == nil
	return err
}

// write replaces the content. A failure leaves the one that was there: its blocks exist, or there was none.
func (f *ownedFile) write(content []byte) error {
	n, err := f.WriteAt(content, 0)
	if err == nil && n < len(content) {
		err = io.ErrShortWrite
	}
	return err
}

// clear takes the record out. In memory the file is cut to nothing, since otherwise every name that anybody ever had a lock of
// would keep a page, and the directory for locks of many systems has room for 1280. On a disk, whose file systems flush a file
// that was cut, it is overwritten.
func (f *ownedFile) clear() error {
	if f.InMemory() {
		return f.Truncate(0)
	}
	return f.write(noOwner())
}

// ReadAt reads the metadata. The number of a process in another pid namespace would name the wrong one here.
func (f *ownedFile) ReadAt(p []byte, offset int64) (int, error) {
	o, err := f.owner()
	if err != nil || o == nil || o.pidSpace != f.space {
		return 0, err
	}
	text := Metadata{PID: o.pid}.append(nil)
	return copy(p, text[min(offset, int64(len(text))):]), nil
}

func (f *ownedFile) Unlock() error {
	if f.ours {
		f.ours = false
		f.left = f.clear()
	}
	return f.namedFile.Unlock()
}

func (f *ownedFile) Close() error {
	err := f.namedFile.Close()
	if f.left != nil {
		return fmt.Errorf("the owner record stays, and its next holder will take us for dead: %w", f.left)
	}
	return err
}
