package filelock

import (
	"encoding/binary"
	"time"

	"github.com/holdfast-go/holdfast/internal/sys"
)

const attributeName = "user.holdfast"

// attributeSize is the length of the attribute: longer than 64 bytes would cost ext4 an extra block.
const attributeSize = 56

const (
	flagGuarded = 1 << iota // the holder's own kernel lock on the inode succeeded
	flagLocal               // the holder's own look at the file system found a local one
)

// attribute is what a holder writes down beside its record, so that it can be judged by more than a number that is used
// again. Big-endian: "HF1", flags, pid u32, start u64, boot 16 bytes, pid namespace u32, time namespace u32, device u64,
// prepared u64.
type attribute struct {
	guarded, local bool
	pid            int
	start          uint64
	boot           [16]byte
	pidSpace       uint32
	timeSpace      uint32
	device         uint64
	prepared       time.Time // for people only
}

func newAttribute(me sys.Self, device uint64, guarded, local bool, prepared time.Time) attribute {
	return attribute{
		guarded: guarded, local: local, pid: me.PID, start: me.Start, boot: me.Boot,
		pidSpace: me.PIDSpace, timeSpace: me.TimeSpace, device: device, prepared: prepared,
	}
}

func (a attribute) append(b []byte) []byte {
	var flags byte
	if a.guarded {
		flags |= flagGuarded
	}
	if a.local {
		flags |= flagLocal
	}
	b = append(b, 'H', 'F', '1', flags)
	b = binary.BigEndian.AppendUint32(b, uint32(a.pid))
	b = binary.BigEndian.AppendUint64(b, a.start)
	b = append(b, a.boot[:]...)
	b = binary.BigEndian.AppendUint32(b, a.pidSpace)
	b = binary.BigEndian.AppendUint32(b, a.timeSpace)
	b = binary.BigEndian.AppendUint64(b, a.device)
	return binary.BigEndian.AppendUint64(b, uint64(a.prepared.UnixNano()))
}

func parseAttribute(b []byte) (attribute, bool) {
	if len(b) != attributeSize || string(b[:3]) != "HF1" {
		return attribute{}, false
	}
	a := attribute{
		guarded:   b[3]&flagGuarded != 0,
		local:     b[3]&flagLocal != 0,
		pid:       int(binary.BigEndian.Uint32(b[4:])),
		start:     binary.BigEndian.Uint64(b[8:]),
		boot:      [16]byte(b[16:32]),
		pidSpace:  binary.BigEndian.Uint32(b[32:]),
		timeSpace: binary.BigEndian.Uint32(b[36:]),
		device:    binary.BigEndian.Uint64(b[40:]),
		prepared:  time.Unix(0, int64(binary.BigEndian.Uint64(b[48:]))),
	}
	return a, a.pid >= 1 && a.pid <= maxPID && a.boot != [16]byte{}
}
