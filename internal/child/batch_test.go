package child

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBatch(t *testing.T) {
	const cmd = `C:\W\cmd.exe`
	for _, c := range []struct {
		path, program, line string
		args                []string
	}{
		{`C:\p.exe`, `C:\p.exe`, "", []string{`"`}},
		{`C:\cmd`, `C:\cmd`, "", nil},
		{`C:\p.cmd`, cmd, `"C:\p.cmd"`, nil},
		{`C:\P.BAT`, cmd, `"C:\P.BAT"`, nil},
		{`C:\p.cmd. .`, cmd, `"C:\p.cmd. ."`, nil},
		{`C:\a b\(1)&%x%.cmd`, cmd, `"C:\a b\(1)&%%cd:~,%x%%cd:~,%.cmd"`, nil},
		{`C:\p.cmd`, cmd, `"C:\p.cmd" "a b" ""`, []string{"a b", ""}},
		{`C:\p.cmd`, cmd, `"C:\p.cmd" "100%%cd:~,%" "^&|<>!();,="`, []string{"100%", "^&|<>!();,="}},
		{`C:\p.cmd`, cmd, `"C:\p.cmd" "C:\a\\" "\a\b"`, []string{`C:\a\`, `\a\b`}},
	} {
		program, line, err := batch(c.path, append([]string{"name"}, c.args...), cmd)
		require.NoError(t, err)
		assert.Equal(t, c.program, program, c.path)
		if c.line != "" {
			c.line = `"` + cmd + `" /e:on /v:off /d /s /c "` + c.line + `"`
		}
		assert.Equal(t, c.line, line, c.path)
	}
	for _, arg := range []string{`a"b`, "a\nb", "a\rb", "a\x00b"} {
		_, _, err := batch(`C:\p.cmd`, []string{"p", "a", arg}, cmd)
		require.ErrorContains(t, err, "cannot be given the argument", "%q", arg)
	}
}
