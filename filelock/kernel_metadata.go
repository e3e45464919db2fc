package filelock

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Metadata is what the file of a kernel lock says of its last exclusive holder, for people: "4242-7\n". The kernel alone
// knows whether the lock is held.
type Metadata struct {
	PID      int
	Sequence uint64 // counts the kernel locks that the process took; 0 if the file does not say
}

// ParseMetadata reads the content of a kernel lock's file, "<pid>-<sequence>\n" or the older "<pid>\n", both decimal. At
// most 64 bytes are metadata. Everything else names nobody.
func ParseMetadata(b []byte) (m Metadata, ok bool) {
	line, newline := bytes.CutSuffix(b, []byte{'\n'})
	if !newline || len(b) > maxRecord {
		return Metadata{}, false
	}
	pid, sequence, dash := bytes.Cut(line, []byte{'-'})
	if m.PID, ok = parseRecord(append(pid[:len(pid):len(pid)], '\n')); !ok {
		return Metadata{}, false
	}
	if dash {
		n, err := strconv.ParseUint(string(sequence), 10, 64)
		if err != nil {
			return Metadata{}, false
		}
		m.Sequence = n
	}
	return m, true
}

// String is the metadata as it stands in the file, without the newline.
func (m Metadata) String() string { return fmt.Sprintf("%d-%d", m.PID, m.Sequence) }

func (m Metadata) append(b []byte) []byte {
	b = append(strconv.AppendInt(b, int64(m.PID), 10), '-')
	return append(strconv.AppendUint(b, m.Sequence, 10), '\n')
}

var (
	errNoProcess    = errors.New("metadata must name a process")
	errOtherContent = errors.New("the file has a content that is no lock's, and keeps it")
)

// isOthers reports whether the file has a content that metadata is not, neither whole nor torn by a crash: somebody's own.
func isOthers(f lockFile, size int64) bool {
	if size == 0 || size > maxRecord {
		return size > 0
	}
	var buf [maxRecord]byte
	n, err := readFull(f, buf[:size])
	// A new file's block can be zeros, and so can the rest of one. No metadata goes on behind its newline.
	text := bytes.TrimSuffix(bytes.TrimRight(buf[:n], "\x00"), []byte{'\n'})
	pid, sequence, _ := bytes.Cut(text, []byte{'-'})
	return err != nil || !areDigits(pid) || !areDigits(sequence)
}

func areDigits(text []byte) bool { return len(bytes.Trim(text, "0123456789")) == 0 }

// write replaces the content of a locked file of this size. A longer one is cut to the new length first, so that whoever
// reads in between finds no newline and no metadata; it is never cut to nothing, since ext4 then flushes it at each close,
// which costs forty times the lock.
func (m Metadata) write(f lockFile, size int64) error {
	if m.PID <= 0 || m.PID > maxPID {
		return errNoProcess
	}
	var buf [maxRecord]byte
	text := m.append(buf[:0])
	if size > int64(len(text)) {
		if err := f.Truncate(int64(len(text))); err != nil {
			return err
		}
	}
	n, err := f.WriteAt(text, 0)
	if err == nil && n < len(text) {
		err = io.ErrShortWrite
	}
	return err
}

func readMetadata(f lockFile) (Metadata, bool) {
	var buf [maxRecord + 1]byte
	n, err := readFull(f, buf[:])
	if err != nil {
		return Metadata{}, false
	}
	return ParseMetadata(buf[:n])
}
