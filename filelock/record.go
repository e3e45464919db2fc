package filelock

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
)

// maxRecord is how many bytes of a record are looked at. A longer file names no process.
const maxRecord = 64

// maxPID is the largest process number that a record can name.
const maxPID = 1<<31 - 1

// appendRecord appends the record of pid: decimal digits and one newline.
func appendRecord(b []byte, pid int) []byte {
	return append(strconv.AppendInt(b, int64(pid), 10), '\n')
}

// parseRecord returns the process that the bytes of a lock or claim name. Zero padding is accepted; everything else than
// digits and one newline names nobody: 0.
func parseRecord(b []byte) (pid int, ok bool) {
	digits, found := bytes.CutSuffix(b, []byte{'\n'})
	if !found || len(b) > maxRecord || len(digits) == 0 {
		return 0, false
	}
	var n int64 // int may have 32 bits
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		if n = n*10 + int64(c-'0'); n > maxPID {
			return 0, false
		}
	}
	return int(n), n > 0
}

// describeBytes says what was found where a record should be, for people.
func describeBytes(b []byte) string {
	switch {
	case len(b) == 0:
		return "is empty"
	case len(b) > maxRecord:
		return fmt.Sprintf("is longer than any record, begins with %.20q", b)
	default:
		return fmt.Sprintf("reads %.40q", b)
	}
}

const lockSuffix = ".lock"

// claimName is the name of the claim on a lock with these exact bytes.
func claimName(lock string, record []byte) string {
	sum := sha256.Sum256(record)
	return lock + ".takeover-" + hex.EncodeToString(sum[:8])
}

// tempName is the name of a lock or claim that is not published yet.
func tempName(lock string, random [6]byte) string {
	return lock + "." + hex.EncodeToString(random[:]) + ".tmp"
}
