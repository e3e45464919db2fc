package filelock

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/sys"
)

func TestParseRecord(t *testing.T) {
	for _, c := range []struct {
		bytes string
		pid   int // 0: names nobody
	}{
		{"4242\n", 4242},
		{"1\n", 1},
		{"2147483647\n", 2147483647},
		{"0042\n", 42},
		{string(bytes.Repeat([]byte{'0'}, 62)) + "7\n", 7},
		{string(bytes.Repeat([]byte{'0'}, 63)) + "7\n", 0}, // 65 bytes
		{"", 0},
		{"12", 0},
		{"\n", 0},
		{"12\n\n", 0},
		{"12\r\n", 0},
		{"\ufeff12\n", 0},
		{"+12\n", 0},
		{"-5\n", 0},
		{"0\n", 0},
		{"000\n", 0},
		{"2147483648\n", 0},
		{"99999999999999999999\n", 0},
		{" 12\n", 0},
		{"12 host\n", 0},
		{"holder\n", 0},
		{"{\"pid\":12}\n", 0},
		{"12\x00\n", 0},
		{"\u0661\u0662\n", 0}, // digits, but not these
	} {
		pid, ok := parseRecord([]byte(c.bytes))
		assert.Equal(t, c.pid != 0, ok, "%q", c.bytes)
		if ok {
			assert.Equal(t, c.pid, pid, "%q", c.bytes)
		}
	}
}

func TestNames(t *testing.T) {
	// printf '4242\n' | sha256sum | cut -c1-16, and the same for the others
	for record, digits := range map[string]string{
		"4242\n": "859f0b154fdb2d63",
		"0042\n": "896c8fbbb2c1b0cc",
		"":       "e3b0c44298fc1c14",
	} {
		assert.Equal(t, "f.lock.takeover-"+digits, claimName("f.lock", []byte(record)), "%q", record)
	}
	assert.Equal(t, "f.lock.0001fe00ff10.tmp", tempName("f.lock", [6]byte{0, 1, 0xfe, 0, 0xff, 0x10}))
}

func TestAttributeBytes(t *testing.T) {
	a := attribute{
		guarded: true, local: true, pid: 4242, start: 0x0102030405060708, boot: [16]byte{1, 2, 15: 9},
		pidSpace: 0xf0000001, timeSpace: 0xf0000002, device: 0x1122334455667788, prepared: time.Unix(1, 5),
	}
	b := a.append(nil)
	assert.Equal(t, "HF1\x03\x00\x00\x10\x92\x01\x02\x03\x04\x05\x06\x07\x08"+
		"\x01\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x09"+
		"\xf0\x00\x00\x01\xf0\x00\x00\x02\x11\x22\x33\x44\x55\x66\x77\x88\x00\x00\x00\x00\x3b\x9a\xca\x05", string(b))
	got, ok := parseAttribute(b)
	require.True(t, ok)
	assert.Equal(t, a, got)
	for name, bad := range map[string][]byte{
		"shorter": b[:55], "longer": append(b[:56:56], 0), "version": append([]byte("HF2"), b[3:]...), "empty": nil,
		"no boot": append(append(b[:16:16], make([]byte, 16)...), b[32:]...),
		"pid 0":   append(append(b[:4:4], 0, 0, 0, 0), b[8:]...),
	} {
		_, ok := parseAttribute(bad)
		assert.False(t, ok, name)
	}
}

func TestJudge(t *testing.T) {
	me := sys.Self{PID: 10, Start: 5, Boot: [16]byte{1}, PIDSpace: 100, TimeSpace: 200, SeesAll: true}
	const device = 7
	// what a holder of our boot and namespaces writes on a local file system
	by := func(change func(*attribute)) *attribute {
		a := newAttribute(me, device, true, true, time.Time{})
		a.pid, a.start = 42, 1000
		if change != nil {
			change(&a)
		}
		return &a
	}
	elsewhere := by(func(a *attribute) { a.device++ })
	for _, c := range []struct {
		name      string
		pid       int
		attribute *attribute
		guard     guardState
		remote    bool // our own look at the file system says so
		hold      bool
		me        func(*sys.Self)
		process   sys.Process
		want      verdict
		proof     proof
	}{
		{name: "guard held", pid: 42, guard: guardHeldByThem, process: sys.Process{Presence: sys.Absent}, want: alive, proof: guardHeld},
		{name: "guard held, bytes name nobody", guard: guardHeldByThem, want: alive, proof: guardHeld},
		{name: "guarded, local, guard free", pid: 42, attribute: by(nil), guard: guardIsFree, process: sys.Process{Presence: sys.Present, Start: 1000}, want: gone, proof: guardFree},
		{name: "guard free, another device", pid: 42, attribute: elsewhere, guard: guardIsFree, process: sys.Process{Presence: sys.Present, Start: 1000}, want: alive, proof: processRuns},
		{name: "guard free, not local", pid: 42, attribute: by(func(a *attribute) { a.local = false }), guard: guardIsFree, process: sys.Process{Presence: sys.Present, Start: 1000}, want: alive, proof: processRuns},
		{name: "guard free, was not guarded", pid: 42, attribute: by(func(a *attribute) { a.guarded = false }), guard: guardIsFree, process: sys.Process{Presence: sys.Present, Start: 1000}, want: alive, proof: processRuns},
		{name: "guard unknown", pid: 42, attribute: by(nil), process: sys.Process{Presence: sys.Present, Start: 1000}, want: alive, proof: processRuns},
		{name: "another boot, local", pid: 42, attribute: by(func(a *attribute) { a.boot[0]++ }), guard: guardIsFree, process: sys.Process{Presence: sys.Present}, want: gone, proof: bootDiffers},
		{name: "another boot, the holder was not local", pid: 42, attribute: by(func(a *attribute) { a.boot[0]++; a.local = false }), process: sys.Process{Presence: sys.Absent}, want: unproven, proof: otherBoot},
		{name: "another boot, we are not local", pid: 42, attribute: by(func(a *attribute) { a.boot[0]++ }), remote: true, process: sys.Process{Presence: sys.Absent}, want: unproven, proof: otherBoot},
		{name: "our boot unknown", pid: 42, attribute: by(nil), guard: guardIsFree, me: func(s *sys.Self) { s.Boot = [16]byte{} }, process: sys.Process{Presence: sys.Absent}, want: unproven, proof: otherBoot},
		{name: "no such process", pid: 42, attribute: elsewhere, process: sys.Process{Presence: sys.Absent}, want: gone, proof: noSuchProcess},
		{name: "another start", pid: 42, attribute: elsewhere, process: sys.Process{Presence: sys.Present, Start: 1001}, want: gone, proof: startDiffers},
		{name: "an earlier start, too", pid: 42, attribute: elsewhere, process: sys.Process{Presence: sys.Forbidden, Start: 999}, want: gone, proof: startDiffers},
		{name: "start unknown", pid: 42, attribute: elsewhere, process: sys.Process{Presence: sys.Present}, want: alive, proof: processRuns},
		{name: "holder's start unknown", pid: 42, attribute: by(func(a *attribute) { a.device++; a.start = 0 }), process: sys.Process{Presence: sys.Present, Start: 3}, want: alive, proof: processRuns},
		{name: "another time namespace: starts do not compare", pid: 42, attribute: by(func(a *attribute) { a.device++; a.timeSpace++ }), process: sys.Process{Presence: sys.Present, Start: 1001}, want: alive, proof: processRuns},
		{name: "another pid namespace", pid: 42, attribute: by(func(a *attribute) { a.device++; a.pidSpace++ }), process: sys.Process{Presence: sys.Absent}, want: unproven, proof: otherNamespace},
		{name: "not reaped", pid: 42, attribute: elsewhere, process: sys.Process{Presence: sys.Exited, Start: 1000}, want: gone, proof: notReaped},
		{name: "only a thread", pid: 42, attribute: elsewhere, process: sys.Process{Presence: sys.Present, Thread: true}, want: gone, proof: threadID},
		{name: "ours by attribute", pid: 42, attribute: elsewhere, hold: true, want: alive, proof: ours},
		{name: "Node: no such process", pid: 42, process: sys.Process{Presence: sys.Absent}, want: gone, proof: noSuchProcess},
		{name: "Node: not all processes are shown to us", pid: 42, me: func(s *sys.Self) { s.SeesAll = false }, process: sys.Process{Presence: sys.Absent}, want: unproven, proof: noAnswer},
		{name: "Node: not reaped", pid: 42, process: sys.Process{Presence: sys.Exited}, want: gone, proof: notReaped},
		{name: "Node: only a thread", pid: 42, process: sys.Process{Presence: sys.Present, Thread: true}, want: gone, proof: threadID},
		{name: "Node: runs", pid: 42, process: sys.Process{Presence: sys.Present}, want: alive, proof: processRuns},
		{name: "Node: runs, guard free proves nothing", pid: 42, guard: guardIsFree, process: sys.Process{Presence: sys.Present}, want: alive, proof: processRuns},
		{name: "Node: another user's", pid: 42, process: sys.Process{Presence: sys.Forbidden}, want: alive, proof: otherUser},
		{name: "Node: no answer", pid: 42, process: sys.Process{}, want: unproven, proof: noAnswer},
		{name: "our number and ours", pid: 10, hold: true, want: alive, proof: ours},
		{name: "our number, not ours", pid: 10, process: sys.Process{Presence: sys.Present}, want: unproven, proof: ourNumber},
		{name: "names nobody", guard: guardIsFree, want: unproven, proof: noRecord},
	} {
		t.Run(c.name, func(t *testing.T) {
			me := me
			if c.me != nil {
				c.me(&me)
			}
			got, proof := judge(evidence{
				pid: c.pid, attribute: c.attribute, guard: c.guard, device: device, local: func() bool { return !c.remote },
				me: me, holdIt: c.hold,
				process: func(pid int) sys.Process { assert.Equal(t, 42, pid); return c.process },
			})
			assert.Equal(t, c.want, got)
			assert.Equal(t, c.proof, proof)
		})
	}
}

// The attempts of a wait stand where Node's do.
func TestCadence(t *testing.T) {
	for _, c := range []struct {
		wait time.Duration
		at   []int // milliseconds
	}{
		{0, []int{0}},
		{time.Millisecond, []int{0, 20}},
		{50 * time.Millisecond, []int{0, 20, 60}},
		{2 * time.Second, []int{0, 20, 60, 140, 300, 500, 700, 900, 1100, 1300, 1500, 1700, 1900, 2100}},
	} {
		path := target(t)
		write(t, path+lockSuffix, []byte("somebody\n"))
		var at []int
		s := newStepped(nil)
		s.pauseFor = true
		s.on = func(step step) error {
			if step.op == "lstat" && step.lock() && !step.after {
				at = append(at, int(s.virtual/time.Millisecond))
			}
			return nil
		}
		_, err := acquireFor(t, s, newProcess(), path, Wait(c.wait))
		require.ErrorIs(t, err, ErrHeld)
		assert.Equal(t, c.at, at, "%v", c.wait)
	}
}
