package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/filelock"
)

// waitTime is how long to wait for a lock.
type waitTime time.Duration

// UnmarshalText reads 30s, 2m, 1m30s; a bare number is seconds; 0 is one try.
func (w *waitTime) UnmarshalText(text []byte) error {
	s := string(text)
	if s == "forever" {
		*w = waitTime(filelock.Forever)
		return nil
	}
	d, ok := parseTime(s)
	if !ok {
		return fmt.Errorf("%s is no time to wait: give 30s, 2m, a number of seconds, 0 for one try, or forever", quoted(s))
	}
	*w = waitTime(d)
	return nil
}

// span is a time that has an end.
type span time.Duration

// UnmarshalText reads 30s, 2m, 1m30s; a bare number is seconds.
func (t *span) UnmarshalText(text []byte) error {
	d, ok := parseTime(string(text))
	if !ok {
		return fmt.Errorf("%s is no time: give 30s, 2m, or a number of seconds", quoted(string(text)))
	}
	*t = span(d)
	return nil
}

func parseTime(s string) (d time.Duration, ok bool) {
	d, err := time.ParseDuration(s)
	if err != nil {
		seconds, err := strconv.ParseFloat(s, 64)
		if err != nil || !(seconds < math.MaxInt64/float64(time.Second)) { // also if it is no number
			return 0, false
		}
		d = time.Duration(seconds * float64(time.Second))
	}
	return d, d >= 0
}

// fileMode is a stated permission mode.
type fileMode struct {
	given bool
	bits  fs.FileMode
}

// UnmarshalText reads an octal number.
func (m *fileMode) UnmarshalText(text []byte) error {
	bits, err := strconv.ParseUint(strings.TrimPrefix(string(text), "0o"), 8, 32)
	if err != nil || bits > 0o777 {
		return fmt.Errorf("%s is no mode: give an octal number from 0 to 0777", quoted(string(text)))
	}
	*m = fileMode{true, fs.FileMode(bits)}
	return nil
}

// digest is the SHA-256 of a content that is expected.
type digest struct {
	given bool
	sum   [sha256.Size]byte
}

// UnmarshalText reads sha256:HEX.
func (d *digest) UnmarshalText(text []byte) error {
	digits, ok := strings.CutPrefix(string(text), "sha256:")
	sum, err := hex.DecodeString(digits)
	if !ok || err != nil || len(sum) != sha256.Size {
		return fmt.Errorf("%s is no digest: give sha256: and 64 hexadecimal digits", quoted(string(text)))
	}
	d.given = true
	copy(d.sum[:], sum)
	return nil
}

// exitCode is a code that a process can end with.
type exitCode int

// UnmarshalText reads 0 to 255.
func (e *exitCode) UnmarshalText(text []byte) error {
	n, err := strconv.ParseUint(string(text), 10, 8)
	if err != nil {
		return fmt.Errorf("%s is no exit code: give a number from 0 to 255", quoted(string(text)))
	}
	*e = exitCode(n)
	return nil
}

// quoted is a value as an error names it: whole, unless it is too long for a line.
func quoted(value string) string { return strconv.Quote(shortened(value, 80)) }
