package filelock

import (
	"math/big"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestParseMetadata(t *testing.T) {
	for text, want := range map[string]Metadata{
		"4242-7\n":                           {4242, 7},
		"4242-0\n":                           {4242, 0},
		"4242\n":                             {4242, 0},
		"0042-07\n":                          {42, 7},
		"2147483647-18446744073709551615\n":  {maxPID, 1<<64 - 1},
		"":                                   {},
		"4242":                               {},
		"4242-7":                             {},
		"4242-\n":                            {},
		"-7\n":                               {},
		"0-7\n":                              {},
		"2147483648-7\n":                     {},
		"4294971538-7\n":                     {}, // 2^32 and 4242
		"4242-18446744073709551616\n":        {},
		"4242--7\n":                          {},
		"4242-+7\n":                          {},
		"+4242-7\n":                          {},
		"4242-7\r\n":                         {},
		"4242-7\n\n":                         {},
		"4242-7\n8\n":                        {},
		"4242 7\n":                           {},
		"4242-7-8\n":                         {},
		"4242-1_0\n":                         {},
		"\ufeff4242-7\n":                     {},
		"host-4242\n":                        {},
		strings.Repeat("0", 58) + "4242-7\n": {}, // 64 bytes and one
		strings.Repeat("0", 57) + "4242-7\n": {4242, 7},
	} {
		m, ok := ParseMetadata([]byte(text))
		assert.Equal(t, want, m, "%q", text)
		assert.Equal(t, want.PID != 0, ok, "%q", text)
	}
}

// The grammar of metadata, told apart from the parser by other means; what is written is read back.
func FuzzMetadata(f *testing.F) {
	for _, s := range []string{"4242-7\n", "4242\n", "0042-007\n", "2147483648-1\n", "1-18446744073709551616\n", "", "1-\n", "1-+1\n", "1-1\r\n"} {
		f.Add([]byte(s))
	}
	grammar := regexp.MustCompile(`\A([0-9]+)(?:-([0-9]+))?\n\z`)
	f.Fuzz(func(t *testing.T, b []byte) {
		before := string(b)
		m, got := ParseMetadata(b)
		if string(b) != before {
			t.Errorf("%q was changed to %q", before, b)
		}
		pid, sequence, ok := new(big.Int), new(big.Int), false
		if part := grammar.FindSubmatch(b); part != nil && len(b) <= 64 {
			pid.SetString(string(part[1]), 10)
			sequence.SetString(string(part[2]), 10)
			ok = pid.Sign() > 0 && pid.Cmp(big.NewInt(maxPID)) <= 0 && sequence.IsUint64()
		}
		if got != ok || ok && (pid.Int64() != int64(m.PID) || sequence.Uint64() != m.Sequence) {
			t.Errorf("%q: %v, %v; want %v-%v, %v", b, m, got, pid, sequence, ok)
		}
		if !ok {
			return
		}
		written := m.append(nil)
		if again, ok := ParseMetadata(written); !ok || again != m || string(written) != m.String()+"\n" {
			t.Errorf("%q was written as %q", b, written)
		}
	})
}
