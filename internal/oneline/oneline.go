// Package oneline makes foreign text fit for messages of one line.
package oneline

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Path is a path as a message shows it: as it is, or quoted if it is empty or would not print on one line.
func Path(path string) string {
	if path == "" || !utf8.ValidString(path) || strings.ContainsFunc(path, unprintable) {
		return strconv.Quote(path)
	}
	return path
}

// Text is s with a question mark for each character that does not print, and of at most so many characters.
func Text(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if unprintable(r) {
			return '?'
		}
		return r
	}, s)
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }
