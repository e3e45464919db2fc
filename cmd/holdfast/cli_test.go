package main

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/filelock"
)

// badCommandLines must each be refused with one sentence.
var badCommandLines = [][]string{
	{}, {""}, {"-"}, {"--"}, {"wriet", "f"}, {"--frob"}, {"lock"}, {"lock", "--"}, {"lock", "f"}, {"lock", "f", "--"}, {"lock", "f", "--", ""},
	{"lock", "f", "true"}, {"lock", "f", "-x", "--", "true"}, {"lock", "f", "g", "--", "true"}, {"edit", "f"}, {"write"},
	{"version", "x"}, {"version", "--", "x"}, {"lock", "--wait", "f", "--", "true"}, {"lock", "--wait=", "f", "--", "true"},
	{"lock", "-E", "f", "--", "x"}, {"write", "--mode=8", "f"}, {"write", "--sync=maybe", "f"}, {"write", "--if-match=sha256:00", "f"},
	{"run"}, {"run", "d"}, {"run", "", "--", "true"}, {"run", "d", "true"}, {"run", "--attached", "--captured", "d", "--", "true"},
	{"run", "--attached", "--idle-limit=1", "d", "--", "true"}, {"lock", "--status-fd=2", "f", "--", "true"}, {"lock", "--kill-after=-1", "f", "--", "true"},
	{"lock", longPath, "true"}, {longPath}, {"lock", "f", "--" + longPath},
}

func TestFlagsBeforeAndAfterFile(t *testing.T) {
	for _, line := range []string{
		"lock -n -q -v -E 9 --wait 3 f -- cmd -n",
		"lock f -nqv -E9 --wait=3 -- cmd -n",
		"lock -nq f -v --busy-code 9 --wait 3s -- cmd -n",
	} {
		v, err := parse(strings.Fields(line), io.Discard)
		require.NoError(t, err, line)
		l := v.(*lockVerb)
		assert.Equal(t, "f", l.File)
		assert.Equal(t, []string{"cmd", "-n"}, l.Command)
		assert.True(t, l.NoWait && l.Quiet && l.Verbose)
		assert.Equal(t, exitCode(9), l.BusyCode)
		assert.Equal(t, waitTime(3*time.Second), *l.Wait)
		assert.Zero(t, l.wait())
	}
}

// TestNamesThatAreNotUTF8: they arrive as they are, so that no two of them mean one file.
func TestNamesThatAreNotUTF8(t *testing.T) {
	v, err := parse([]string{"edit", "--create", "text\xfe", "plan\xff", "--", "cmd\xfd"}, io.Discard)
	require.NoError(t, err)
	e := v.(*editVerb)
	assert.Equal(t, []string{"plan\xff", "text\xfe", "cmd\xfd"}, []string{e.File, *e.Create, e.Command[0]})
	v, err = parse([]string{"run", "profile\xff", "--", "cmd"}, io.Discard)
	require.NoError(t, err)
	assert.Equal(t, "profile\xff", v.(*runVerb).Dir)
	v, err = parse([]string{"edit", "--create=text\xfe", "plan", "--", "cmd"}, io.Discard)
	require.NoError(t, err)
	assert.Equal(t, "text\xfe", *v.(*editVerb).Create)
}

func TestWaitTimes(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"30s": 30 * time.Second, "2m": 2 * time.Minute, "1m30s": 90 * time.Second, "45": 45 * time.Second, "1.5": 1500 * time.Millisecond,
		"0": 0, "0s": 0, "forever": filelock.Forever,
	} {
		var w waitTime
		require.NoError(t, w.UnmarshalText([]byte(text)), text)
		assert.Equal(t, want, time.Duration(w), text)
	}
	for _, text := range []string{"", "-1", "-1s", "soon", "1e300", "NaN", "Inf", "-Inf", "9223372037", "2 m", "0x1p70"} {
		var w waitTime
		assert.Error(t, w.UnmarshalText([]byte(text)), text)
	}
	v, err := parse([]string{"lock", "f", "--", "true"}, io.Discard)
	require.NoError(t, err)
	assert.Equal(t, 2*time.Minute, v.(*lockVerb).wait(), "the default")
}

func TestRunFlags(t *testing.T) {
	v, err := parse(strings.Fields("run d -- pnpm add x"), io.Discard)
	require.NoError(t, err)
	r := v.(*runVerb)
	assert.Equal(t, []any{"d", 5 * time.Second, 10 * time.Second, 2 * time.Minute},
		[]any{r.Dir, time.Duration(r.LeftoverWait), time.Duration(r.KillAfter), r.wait()})
	v, err = parse(strings.Fields("run -n --leftover-wait 0 --idle-limit 1m --kill-after 3 d -- pnpm add x"), io.Discard)
	require.NoError(t, err)
	r = v.(*runVerb)
	assert.Equal(t, []time.Duration{0, time.Minute, 3 * time.Second, 0},
		[]time.Duration{time.Duration(r.LeftoverWait), time.Duration(r.IdleLimit), time.Duration(r.KillAfter), r.wait()})
	assert.False(t, r.attached(), "a limit needs output to look at")
	for text, want := range map[string]bool{"--attached": true, "--captured": false} {
		v, err := parse([]string{"run", text, "d", "--", "true"}, io.Discard)
		require.NoError(t, err)
		assert.Equal(t, want, v.(*runVerb).attached())
	}
}

func TestModes(t *testing.T) {
	for text, want := range map[string]uint32{"644": 0o644, "0600": 0o600, "0o640": 0o640, "0": 0, "777": 0o777} {
		var m fileMode
		require.NoError(t, m.UnmarshalText([]byte(text)), text)
		assert.True(t, m.given)
		assert.Equal(t, want, uint32(m.bits))
	}
	for _, text := range []string{"", "8", "1777", "u+w", "-1", "0x1"} {
		var m fileMode
		assert.Error(t, m.UnmarshalText([]byte(text)), text)
	}
}

func TestBadCommandLines(t *testing.T) {
	for _, args := range badCommandLines {
		v, err := parse(args, io.Discard)
		assert.Nil(t, v, "%q", args)
		code, text, _ := outcome(err, exitBusy)
		assert.Equal(t, exitUsage, code, "%q: %v", args, err)
		assert.Contains(t, text, "; see holdfast ", "%q", args)
	}
}

// FuzzParse: every command line is help, a usage error or a verb that has what it needs.
func FuzzParse(f *testing.F) {
	for _, args := range badCommandLines {
		f.Add(strings.Join(args, "\x00"))
	}
	f.Add("lock\x00-nqv\x00f\x00--\x00true")
	f.Add("help\x00write")
	f.Add("run\x00--idle-limit=1m\x00--leftover-wait\x002\x00d\x00-n\x00--\x00true")
	f.Fuzz(func(t *testing.T, line string) {
		var out strings.Builder
		v, err := parse(strings.Split(line, "\x00"), &out)
		switch {
		case err != nil:
			code, text, _ := outcome(err, exitBusy)
			assert.Equal(t, exitUsage, code, text)
		case v == nil:
			assert.Contains(t, out.String(), "Usage: holdfast")
		default:
			switch v := v.(type) {
			case *lockVerb:
				assert.NotEmpty(t, v.Command)
				assert.GreaterOrEqual(t, v.wait(), time.Duration(0))
			case *runVerb:
				assert.NotEmpty(t, v.Command)
				assert.NotEmpty(t, v.Dir)
				assert.GreaterOrEqual(t, v.LeftoverWait, span(0))
			}
		}
	})
}
