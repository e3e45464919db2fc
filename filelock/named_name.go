package filelock

import (
	"crypto/sha256"
	"encoding/hex"
)

// mostReadable is how much of a name its file shows: with the hash, and with what a scope puts before it, short enough for
// every file system and for the names of Windows objects.
const mostReadable = 60

// namedFileName is what the lock called name is called on the system: what of the name everything can show, for people, and the
// hash of all its bytes, which is what tells names apart. It is of at most 125 ASCII characters: no file system and no
// object manager takes two of them for one, whatever it does with case or with composed characters.
func namedFileName(name string) string {
	hash := sha256.Sum256([]byte(name))
	b := make([]byte, 0, mostReadable+1+2*len(hash))
	for i := 0; i < len(name) && len(b) < mostReadable; i++ {
		if c := name[i]; shows(c) {
			b = append(b, c)
		} else if len(b) == 0 || b[len(b)-1] != '_' {
			b = append(b, '_')
		}
	}
	if len(b) > 0 {
		b = append(b, '-')
	}
	return string(hex.AppendEncode(b, hash[:]))
}

func shows(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '.'
}
