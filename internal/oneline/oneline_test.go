package oneline

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestPath(t *testing.T) {
	for path, want := range map[string]string{
		"":          `""`,
		"/a b/ü":    "/a b/ü",
		"a\nb":      `"a\nb"`,
		"a\x1b[31m": `"a\x1b[31m"`,
		"a\xff":     `"a\xff"`,
	} {
		assert.Equal(t, want, Path(path))
	}
}

func TestText(t *testing.T) {
	for s, want := range map[string]string{
		"":          "",
		"node dsh":  "node dsh",
		"a\tb\x1bc": "a?b?c",
		"12345678":  "12345678",
		"ümlautüme": "ümlautü…",
	} {
		assert.Equal(t, want, Text(s, 8))
	}
}
