package sys

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Only what means the same everywhere is tidied.
func TestBelow(t *testing.T) {
	for dir, want := range map[string]string{
		".": "package.json", "p/": "p/package.json", "./p": "p/package.json", "/": "/package.json", "..": "../package.json",
		"link/../p": "link/../p/package.json", "link/../p/": "link/../p/package.json",
	} {
		assert.Equal(t, filepath.FromSlash(want), Below(filepath.FromSlash(dir), "package.json"))
	}
}
