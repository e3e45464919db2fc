package attribute

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBytes(t *testing.T) {
	a := Attribute{
		Guarded: true, Local: true, PID: 4242, Start: 0x0102030405060708, Boot: [16]byte{1, 2, 15: 9},
		PIDSpace: 0xf0000001, TimeSpace: 0xf0000002, Device: 0x1122334455667788, Prepared: time.Unix(1, 5),
	}
	b := a.Append(nil)
	assert.Equal(t, "HF1\x03\x00\x00\x10\x92\x01\x02\x03\x04\x05\x06\x07\x08"+
		"\x01\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x09"+
		"\xf0\x00\x00\x01\xf0\x00\x00\x02\x11\x22\x33\x44\x55\x66\x77\x88\x00\x00\x00\x00\x3b\x9a\xca\x05", string(b))
	got, ok := Parse(b)
	require.True(t, ok)
	assert.Equal(t, a, got)
	for name, bad := range map[string][]byte{
		"shorter": b[:55], "longer": append(b[:56:56], 0), "version": append([]byte("HF2"), b[3:]...), "empty": nil,
		"no boot": append(append(b[:16:16], make([]byte, 16)...), b[32:]...),
		"pid 0":   append(append(b[:4:4], 0, 0, 0, 0), b[8:]...),
		"pid -1":  append(append(b[:4:4], 0xff, 0xff, 0xff, 0xff), b[8:]...),
		"2^31":    append(append(b[:4:4], 0x80, 0, 0, 0), b[8:]...),
	} {
		_, ok := Parse(bad)
		assert.False(t, ok, name)
	}
}

// What is read as an attribute is what would be written.
func FuzzAttribute(f *testing.F) {
	f.Add(Attribute{Guarded: true, Local: true, PID: 4242, Start: 5, Boot: [16]byte{1}, Prepared: time.Unix(1, 2)}.Append(nil))
	f.Add([]byte("HF1"))
	f.Add(make([]byte, Size))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, ok := Parse(b)
		if !ok {
			return
		}
		again := a.Append(nil)
		again[3] = b[3] // flags that a later version may add
		if string(again) != string(b) {
			t.Errorf("%x became %x", b, again)
		}
	})
}
