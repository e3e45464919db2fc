package filelock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/holdfast-go/holdfast/internal/attribute"
	"github.com/holdfast-go/holdfast/internal/sys"
)

func TestTempName(t *testing.T) {
	assert.Equal(t, "f.lock.0001fe00ff10.tmp", tempName("f.lock", [6]byte{0, 1, 0xfe, 0, 0xff, 0x10}))
}

func TestJudge(t *testing.T) {
	me := sys.Self{PID: 10, Start: 5, Boot: [16]byte{1}, PIDSpace: 100, TimeSpace: 200, SeesAll: true}
	const device = 7
	// what a holder of our boot and namespaces writes on a local file system
	by := func(change func(*attribute.Attribute)) *attribute.Attribute {
		a := attribute.New(me, device, true, true, time.Time{})
		a.PID, a.Start = 42, 1000
		if change != nil {
			change(&a)
		}
		return &a
	}
	elsewhere := by(func(a *attribute.Attribute) { a.Device++ })
	for _, c := range []struct {
		name      string
		pid       int
		attribute *attribute.Attribute
		guard     guardState
		unread    bool
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
		{name: "guard free, not local", pid: 42, attribute: by(func(a *attribute.Attribute) { a.Local = false }), guard: guardIsFree, process: sys.Process{Presence: sys.Present, Start: 1000}, want: alive, proof: processRuns},
		{name: "guard free, was not guarded", pid: 42, attribute: by(func(a *attribute.Attribute) { a.Guarded = false }), guard: guardIsFree, process: sys.Process{Presence: sys.Present, Start: 1000}, want: alive, proof: processRuns},
		{name: "no guards", pid: 42, attribute: by(nil), process: sys.Process{Presence: sys.Present, Start: 1000}, want: alive, proof: processRuns},
		{name: "another boot, local", pid: 42, attribute: by(func(a *attribute.Attribute) { a.Boot[0]++ }), guard: guardIsFree, process: sys.Process{Presence: sys.Present}, want: gone, proof: bootDiffers},
		{name: "another boot, the holder was not local", pid: 42, attribute: by(func(a *attribute.Attribute) { a.Boot[0]++; a.Local = false }), process: sys.Process{Presence: sys.Absent}, want: unproven, proof: otherBoot},
		{name: "another boot, we are not local", pid: 42, attribute: by(func(a *attribute.Attribute) { a.Boot[0]++ }), remote: true, process: sys.Process{Presence: sys.Absent}, want: unproven, proof: otherBoot},
		{name: "our boot unknown", pid: 42, attribute: by(nil), guard: guardIsFree, me: func(s *sys.Self) { s.Boot = [16]byte{} }, process: sys.Process{Presence: sys.Absent}, want: unproven, proof: otherBoot},
		{name: "no such process", pid: 42, attribute: elsewhere, process: sys.Process{Presence: sys.Absent}, want: gone, proof: noSuchProcess},
		{name: "another start", pid: 42, attribute: elsewhere, process: sys.Process{Presence: sys.Present, Start: 1001}, want: gone, proof: startDiffers},
		{name: "an earlier start, too", pid: 42, attribute: elsewhere, process: sys.Process{Presence: sys.Forbidden, Start: 999}, want: gone, proof: startDiffers},
		{name: "start unknown", pid: 42, attribute: elsewhere, process: sys.Process{Presence: sys.Present}, want: alive, proof: processRuns},
		{name: "holder's start unknown", pid: 42, attribute: by(func(a *attribute.Attribute) { a.Device++; a.Start = 0 }), process: sys.Process{Presence: sys.Present, Start: 3}, want: alive, proof: processRuns},
		{name: "another time namespace: starts do not compare", pid: 42, attribute: by(func(a *attribute.Attribute) { a.Device++; a.TimeSpace++ }), process: sys.Process{Presence: sys.Present, Start: 1001}, want: alive, proof: processRuns},
		{name: "another pid namespace", pid: 42, attribute: by(func(a *attribute.Attribute) { a.Device++; a.PIDSpace++ }), process: sys.Process{Presence: sys.Absent}, want: unproven, proof: otherNamespace},
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

		{name: "guard not told, another boot, local", pid: 42, attribute: by(func(a *attribute.Attribute) { a.Boot[0]++ }), guard: guardFailed, want: gone, proof: bootDiffers},
		{name: "guard not told, another boot, the holder not guarded", pid: 42, attribute: by(func(a *attribute.Attribute) { a.Boot[0]++; a.Guarded = false }), guard: guardFailed, want: gone, proof: bootDiffers},
		{name: "guard not told, whose it was is dead", pid: 42, attribute: by(nil), guard: guardFailed, process: sys.Process{Presence: sys.Absent}, want: gone, proof: noSuchProcess},
		{name: "guard not told, whose it was is not reaped", pid: 42, attribute: by(nil), guard: guardFailed, process: sys.Process{Presence: sys.Exited}, want: gone, proof: notReaped},
		{name: "guard not told, whose it was has lost its number", pid: 42, attribute: by(nil), guard: guardFailed, process: sys.Process{Presence: sys.Present, Start: 1001}, want: gone, proof: startDiffers},
		{name: "guard not told, who made it may have it for this child", pid: 42, attribute: by(func(a *attribute.Attribute) { a.Guarded = false }), guard: guardFailed, process: sys.Process{Presence: sys.Absent}, want: unproven, proof: noGuardAnswer},
		{name: "guard not told, another namespace", pid: 42, attribute: by(func(a *attribute.Attribute) { a.PIDSpace++ }), guard: guardFailed, process: sys.Process{Presence: sys.Absent}, want: unproven, proof: otherNamespace},
		{name: "guard not told, runs", pid: 42, attribute: by(nil), guard: guardFailed, process: sys.Process{Presence: sys.Present, Start: 1000}, want: alive, proof: processRuns},
		{name: "Node, guard not told: no such process", pid: 42, guard: guardFailed, process: sys.Process{Presence: sys.Absent}, want: unproven, proof: noGuardAnswer},
		{name: "Node, guard not told: not reaped", pid: 42, guard: guardFailed, process: sys.Process{Presence: sys.Exited}, want: unproven, proof: noGuardAnswer},
		{name: "Node, guard not told: only a thread", pid: 42, guard: guardFailed, process: sys.Process{Presence: sys.Present, Thread: true}, want: unproven, proof: noGuardAnswer},
		{name: "Node, guard not told: runs", pid: 42, guard: guardFailed, process: sys.Process{Presence: sys.Present}, want: alive, proof: processRuns},
		{name: "attribute not told", pid: 42, unread: true, guard: guardIsFree, process: sys.Process{Presence: sys.Absent}, want: unproven, proof: noAttribute},
		{name: "attribute not told, guard held", pid: 42, unread: true, guard: guardHeldByThem, want: alive, proof: guardHeld},
	} {
		t.Run(c.name, func(t *testing.T) {
			me := me
			if c.me != nil {
				c.me(&me)
			}
			got, proof := judge(evidence{
				pid: c.pid, attribute: c.attribute, unread: c.unread, guard: c.guard, device: device, local: func() bool { return !c.remote },
				me: me, holdIt: c.hold,
				process: func(pid int) sys.Process { assert.Equal(t, 42, pid); return c.process },
			})
			assert.Equal(t, c.want, got)
			assert.Equal(t, c.proof, proof)
		})
	}
}

// One publication of one record is known by more than its inode, whose number is used again.
func TestSame(t *testing.T) {
	a := attribute.Attribute{PID: 42, Prepared: time.Unix(1, 0)}
	again := attribute.Attribute{PID: 42, Prepared: time.Unix(1, 1)}
	of := func(change func(*sighting)) *sighting {
		s := &sighting{name: "f", info: sys.Info{ID: sys.FileID{Ino: 1}}, bytes: []byte("42\n"), attribute: &a}
		if change != nil {
			change(s)
		}
		return s
	}
	copied := a
	for name, c := range map[string]struct {
		other *sighting
		same  bool
	}{
		"as it was":          {of(func(s *sighting) { s.attribute = &copied }), true},
		"touched":            {of(func(s *sighting) { s.info.ModTime = time.Unix(5, 0) }), true},
		"nothing":            {nil, false},
		"its claim":          {of(func(s *sighting) { s.name = "f.takeover" }), false},
		"another inode":      {of(func(s *sighting) { s.info.ID.Ino++ }), false},
		"another process":    {of(func(s *sighting) { s.bytes = []byte("43\n") }), false},
		"by the same again":  {of(func(s *sighting) { s.attribute = &again }), false},
		"without attributes": {of(func(s *sighting) { s.attribute = nil }), false},
	} {
		assert.Equal(t, c.same, of(nil).same(c.other), name)
		assert.Equal(t, c.same, c.other.same(of(nil)), name)
	}
	bare := func(s *sighting) { s.attribute = nil }
	assert.True(t, of(bare).same(of(bare)))
	assert.False(t, (*sighting)(nil).same(nil))
}
