// Package attribute is what a process writes down beside its record, so that it can be judged by more than a number that is
// used again.
package attribute

import (
	"encoding/binary"
	"time"

	"github.com/holdfast-go/holdfast/internal/sys"
)

// Name is the attribute's name on the record's inode.
const Name = "user.holdfast"

// Size is the length of the attribute: longer than 64 bytes would cost ext4 an extra block.
const Size = 56

// maxPID is the largest process number.
const maxPID = 1<<31 - 1

const (
	flagGuarded = 1 << iota
	flagLocal
)

// Attribute says who wrote a record. Big-endian: "HF1", flags, pid u32, start u64, boot 16 bytes, pid namespace u32, time
// namespace u32, device u64, prepared u64.
type Attribute struct {
	Guarded   bool // the process's own kernel lock on the inode succeeded
	Local     bool // the writer's own look at the file system found a local one
	PID       int
	Start     uint64 // as in sys.Self, and so are the next three
	Boot      [16]byte
	PIDSpace  uint32
	TimeSpace uint32
	Device    uint64    // of the inode, as the writer saw it
	Prepared  time.Time // for people only
}

// New is the attribute of a process on an inode of this device.
func New(process sys.Self, device uint64, guarded, local bool, prepared time.Time) Attribute {
	return Attribute{
		Guarded: guarded, Local: local, PID: process.PID, Start: process.Start, Boot: process.Boot,
		PIDSpace: process.PIDSpace, TimeSpace: process.TimeSpace, Device: device, Prepared: prepared,
	}
}

// Append adds the attribute's bytes to b.
func (a Attribute) Append(b []byte) []byte {
	var flags byte
	if a.Guarded {
		flags |= flagGuarded
	}
	if a.Local {
		flags |= flagLocal
	}
	b = append(b, 'H', 'F', '1', flags)
	b = binary.BigEndian.AppendUint32(b, uint32(a.PID))
	b = binary.BigEndian.AppendUint64(b, a.Start)
	b = append(b, a.Boot[:]...)
	b = binary.BigEndian.AppendUint32(b, a.PIDSpace)
	b = binary.BigEndian.AppendUint32(b, a.TimeSpace)
	b = binary.BigEndian.AppendUint64(b, a.Device)
	return binary.BigEndian.AppendUint64(b, uint64(a.Prepared.UnixNano()))
}

// Parse reads the bytes. What has another length, another version, no process or no boot is no attribute.
func Parse(b []byte) (Attribute, bool) {
	if len(b) != Size || string(b[:3]) != "HF1" {
		return Attribute{}, false
	}
	pid := binary.BigEndian.Uint32(b[4:])
	if pid < 1 || pid > maxPID {
		return Attribute{}, false
	}
	a := Attribute{
		Guarded:   b[3]&flagGuarded != 0,
		Local:     b[3]&flagLocal != 0,
		PID:       int(pid),
		Start:     binary.BigEndian.Uint64(b[8:]),
		Boot:      [16]byte(b[16:32]),
		PIDSpace:  binary.BigEndian.Uint32(b[32:]),
		TimeSpace: binary.BigEndian.Uint32(b[36:]),
		Device:    binary.BigEndian.Uint64(b[40:]),
		Prepared:  time.Unix(0, int64(binary.BigEndian.Uint64(b[48:]))),
	}
	return a, a.Boot != [16]byte{}
}

// File is an open inode that may have the attribute.
type File interface {
	Attribute(name string, buf []byte) (int, error)
}

// Read reads the attribute of an inode. After an error it is not known whether there is one, which must not count as none: a
// holder on another machine would be judged by its number. A file system without attributes has none, and a longer one is not
// ours.
func Read(f File) (a Attribute, found bool, err error) {
	var buf [Size + 1]byte
	n, err := f.Attribute(Name, buf[:])
	switch {
	case sys.IsKind(err, sys.NoAttribute, sys.Unsupported, sys.OutOfRange):
		return Attribute{}, false, nil
	case err != nil:
		return Attribute{}, false, err
	}
	a, found = Parse(buf[:n])
	return a, found, nil
}
