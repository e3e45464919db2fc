package atomicwrite

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/assert"
)

func utf16Length(s string) int { return len(utf16.Encode([]rune(s))) }

func byteLength(s string) int { return len(s) }

// What Node cannot have: names that are not UTF-8, and Windows' units.
func TestTempName(t *testing.T) {
	random := [tempRandom]byte{0x00, 0x1f, 0xa0, 0xff, 0x10, 0x09}
	const suffix = ".001fa0ff1009.tmp"
	for _, c := range []struct {
		name   string
		base   string
		length func(string) int
		want   string // without the suffix
	}{
		{"not UTF-8", strings.Repeat("\xff", 255), byteLength, strings.Repeat("\xff", 238)},
		{"UTF-16 units", strings.Repeat("ä", 255), utf16Length, strings.Repeat("ä", 238)},
		{"surrogate pairs", strings.Repeat("😀", 127), utf16Length, strings.Repeat("😀", 119)},
		{"cut between surrogate pairs", "n" + strings.Repeat("😀", 127), utf16Length, "n" + strings.Repeat("😀", 118)},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := tempName(c.base, random, 255, c.length)
			assert.Equal(t, c.want+suffix, got)
			assert.LessOrEqual(t, c.length(got), 255)
		})
	}
}

func TestTempNameWithinLowerLimit(t *testing.T) {
	random := [tempRandom]byte{1, 2, 3, 4, 5, 6}
	for limit, want := range map[int]string{143: strings.Repeat("n", 126), 18: "n", 17: "", 1: ""} {
		assert.Equal(t, want+".010203040506.tmp", tempName(strings.Repeat("n", 143), random, limit, byteLength))
	}
}

func TestTempNamesDiffer(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		var random [tempRandom]byte
		osSystem{}.random(random[:])
		seen[tempName("file", random, 255, lengthOf)] = true
	}
	assert.Len(t, seen, 100)
}

func TestSplit(t *testing.T) {
	sep := string(filepath.Separator)
	for _, c := range []struct {
		path, dir, base string
		ok              bool
	}{
		{"file", ".", "file", true},
		{"./file", ".", "file", true},
		{"a/../file", "a/..", "file", true},
		{"/file", "/", "file", true},
		{"a//file", "a", "file", true},
		{"...", ".", "...", true},
		{"a" + sep + "..file", "a", "..file", true},
		{"", "", "", false},
		{".", "", "", false},
		{"..", "", "", false},
		{"a/.", "", "", false},
		{"a/..", "", "", false},
		{"a/", "", "", false},
		{"/", "", "", false},
		{"a" + sep, "", "", false},
		{"fi\x00le", "", "", false},
		{"d\x00r/file", "", "", false},
	} {
		t.Run(c.path, func(t *testing.T) {
			dir, base, ok := split(c.path)
			assert.Equal(t, c.ok, ok)
			assert.Equal(t, c.dir, dir)
			assert.Equal(t, c.base, base)
			if !c.ok {
				err := WriteFile(c.path, nil, 0o600)
				assert.ErrorIs(t, err, ErrInvalidPath)
				assert.NotContains(t, err.Error(), "\x00")
				_, err = Create(c.path, 0o600)
				assert.ErrorIs(t, err, ErrInvalidPath)
				assert.ErrorIs(t, Symlink("target", c.path), ErrInvalidPath)
				err = Update(t.Context(), c.path, 0o600, nil)
				assert.ErrorIs(t, err, ErrInvalidPath)
				assert.IsType(t, &Error{}, err, "before the lock is asked for")
			}
		})
	}
}

func TestParent(t *testing.T) {
	for dir, want := range map[string]string{
		"a": ".", "a/": ".", "a/b": "a", "a/b//": "a", "/a": "/", "/a/": "/", "/": "/", ".": ".", "a/..": "a", "/a//b": "/a", "": ".",
	} {
		assert.Equal(t, want, parent(dir), dir)
	}
}

func TestBeside(t *testing.T) {
	sep := string(filepath.Separator)
	root, err := filepath.Abs(sep)
	assert.NoError(t, err)
	for _, c := range []struct{ dir, target, want string }{
		{".", "b", "b"},
		{"/", "b", "/b"},
		{"a", "../b", "a" + sep + "../b"},
		{"a/", root + "b", root + "b"},
		{filepath.VolumeName(root) + sep + "a", sep + "b", filepath.VolumeName(root) + sep + "b"},
	} {
		assert.Equal(t, c.want, beside(c.dir, c.target))
	}
}
