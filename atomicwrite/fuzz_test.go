package atomicwrite

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/holdfast-go/holdfast/internal/oneline"
	"github.com/holdfast-go/holdfast/internal/sys"
)

// FuzzTempName: the name fits, ends in the whole suffix and keeps as many whole runes of base as there is room for.
func FuzzTempName(f *testing.F) {
	for _, base := range []string{
		"settings.json", "", "n" + strings.Repeat("ä", 127), strings.Repeat("😀", 127), strings.Repeat("\xff", 255),
		strings.Repeat("n", 237) + "\xf0\x9f\x98", strings.Repeat("n", 236) + "\xe2\x82\xff",
	} {
		f.Add(base, []byte{0x00, 0x1f, 0xa0, 0xff, 0x10, 0x09}, byte(255))
		f.Add(base, []byte("random"), byte(18))
	}
	f.Fuzz(func(t *testing.T, base string, drawn []byte, limit byte) {
		var random [tempRandom]byte
		copy(random[:], drawn)
		room := max(int(limit), tempSuffix) // or else nothing of base is kept
		for _, measure := range []func(string) int{byteLength, utf16Length} {
			got := tempName(base, random, room, measure)
			kept, ok := strings.CutSuffix(got, fmt.Sprintf(".%x.tmp", random))
			if !ok || !strings.HasPrefix(base, kept) {
				t.Fatalf("%q is not of %q", got, base)
			}
			if measure(got) > room {
				t.Errorf("%q has a length of %d, not at most %d", got, measure(got), room)
			}
			next, boundary := len(base), kept == base
			for start := range base {
				boundary = boundary || start == len(kept)
				if start > len(kept) {
					next = start
					break
				}
			}
			if !boundary {
				t.Errorf("%q is cut within a rune of %q", kept, base)
			}
			if kept != base && measure(base[:next])+tempSuffix <= room {
				t.Errorf("%q is cut more than needed of %q", kept, base)
			}
		}
	})
}

// FuzzErrorText: every error is one line that prints, of bounded length beside what the caller and the system named.
func FuzzErrorText(f *testing.F) {
	f.Add("a/file", "a", "a/file.000000000000.tmp", "no such thing", byte(sys.IO), byte(0), false)
	f.Add("a\nb\x1b[31m", "c\rd", "\u202e", "two\nlines", byte(sys.NotPermitted), byte(8), true)
	f.Add("", "", "", "", byte(sys.Other), byte(13), true)
	f.Add("\xff\x00", "\u2028", "\x7f", "\u0085", byte(sys.InUse), byte(255), false)
	steps := []string{
		opPath, opOpenDir, opMakeDir, opLook, opFollow, opRefuse, opCreate, opWrite, opChmod, opSync, opClose, opCheck,
		opRename, opSyncDir, opRemove, opRead, opLink,
	}
	f.Fuzz(func(t *testing.T, path, object, temp, words string, kind, step byte, replaced bool) {
		known := sys.Kind(kind) % (sys.NoProcess + 1)
		op := steps[int(step)%len(steps)]
		for _, reason := range []error{nil, known, errors.New(words), fmt.Errorf("%s: %w", words, known)} {
			e := &Error{Op: op, Path: path, Temp: temp, Replaced: replaced, Err: reason, object: object, left: reason}
			text := e.Error()
			if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("does not print on one line: %q", text)
			}
			named := len(oneline.Path(path)) + len(oneline.Path(object)) + len(oneline.Path(temp)) + 2*len(oneline.Path(words+": "+known.Error()))
			if len(text) > 400+named {
				t.Errorf("%d bytes beside what it names: %s", len(text)-named, text)
			}
			if !strings.HasPrefix(text, oneline.Path(path)) {
				t.Errorf("does not begin with the path: %s", text)
			}
			if temp != "" && !strings.Contains(text, oneline.Path(temp)) {
				t.Errorf("does not name the temporary file that is left: %s", text)
			}
			if reason != nil && !errors.Is(e, reason) {
				t.Errorf("is not %v", reason)
			}
		}
	})
}
