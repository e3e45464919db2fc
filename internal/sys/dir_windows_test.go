package sys

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// What is taken literally, because it has the prefix of long paths, has no two separators together.
func TestLongPath(t *testing.T) {
	name := strings.Repeat("n", 247)
	for dir, want := range map[string]string{
		`C:\`:              `\\?\C:\` + name,
		`C:\dir`:           `\\?\C:\dir\` + name,
		`\\server\share\`:  `\\?\UNC\server\share\` + name,
		`\\?\C:\`:          `\\?\C:\` + name,
		`\\server\share\d`: `\\?\UNC\server\share\d\` + name,
	} {
		assert.Equal(t, want, long((&Dir{dir}).join(name)), dir)
	}
	assert.Equal(t, `C:\n`, long((&Dir{`C:\`}).join("n")))
}
