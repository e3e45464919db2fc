package sys

import (
	"path/filepath"
	"slices"
	"strings"
)

// Below is the path of a name in a directory. What ".." behind a link means, the system says and not the text.
func Below(dir, name string) string {
	if !Climbs(dir) {
		return filepath.Join(dir, name)
	}
	const separator = string(filepath.Separator)
	return strings.TrimSuffix(dir, separator) + separator + filepath.Clean(name)
}

// Climbs reports whether a path has a "..".
func Climbs(path string) bool {
	return slices.Contains(strings.Split(filepath.ToSlash(path), "/"), "..")
}
