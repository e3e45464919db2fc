package atomicwrite

import (
	"encoding/hex"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// The temporary file of FILE is FILE.<12 lower-case hex digits>.tmp. Others read this form: it does not change.
const (
	tempRandom   = 6 // bytes
	tempSuffix   = len(".") + 2*tempRandom + len(".tmp")
	longestName  = 255 // of ext4, XFS, Btrfs, APFS in bytes, of NTFS in UTF-16 units
	tempAttempts = 16  // names to draw; the second is needed once in 2^48 times
)

// tempName is the temporary file's name for base. Where the suffix has no room within limit, base is cut at a rune
// boundary; length measures a name as the system does.
func tempName(base string, random [tempRandom]byte, limit int, length func(string) int) string {
	cut := base
	for cut != "" && length(cut) > limit-tempSuffix {
		_, last := utf8.DecodeLastRuneInString(cut)
		cut = cut[:len(cut)-last]
	}
	name := make([]byte, 0, len(cut)+tempSuffix)
	name = append(append(name, cut...), '.')
	name = hex.AppendEncode(name, random[:])
	return string(append(name, ".tmp"...))
}

// split takes path apart into a directory, to be opened as it stands, and the name of a file in it.
func split(path string) (dir, base string, ok bool) {
	dir, base = filepath.Split(path)
	if strings.IndexByte(path, 0) >= 0 || base == "." || !filepath.IsLocal(base) {
		return "", "", false
	}
	return trimmed(dir), base, true
}

// parent is the directory that dir lies in, by its spelling alone; a root or "." is its own.
func parent(dir string) string {
	up, _ := filepath.Split(trimmed(dir))
	return trimmed(up)
}

// trimmed is dir without separators at its end, unless it is a root.
func trimmed(dir string) string {
	volume := len(filepath.VolumeName(dir))
	end := len(dir)
	for end > volume+1 && isSeparator(dir[end-1]) {
		end--
	}
	if end == 0 {
		return "."
	}
	return dir[:end]
}

func isSeparator(c byte) bool { return c == '/' || c == filepath.Separator }

// beside is the path that a link's target means to the system when the link lies in dir. It is not cleaned: "x/.." is
// where the system says, not x's spelling without it.
func beside(dir, target string) string {
	switch {
	case filepath.IsAbs(target):
		return target
	case target != "" && isSeparator(target[0]):
		return filepath.VolumeName(dir) + target
	default:
		return inside(dir, target)
	}
}

// inside is the path of name in dir.
func inside(dir, name string) string {
	switch {
	case dir == ".":
		return name
	case isSeparator(dir[len(dir)-1]), dir == filepath.VolumeName(dir): // "/", "C:"
		return dir + name
	default:
		return dir + string(filepath.Separator) + name
	}
}
