package pluginrun

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/holdfast-go/holdfast/internal/attribute"
	"github.com/holdfast-go/holdfast/internal/sys"
)

func TestJudge(t *testing.T) {
	me := sys.Self{PID: 10, Start: 5, Boot: [16]byte{1}, PIDSpace: 100, TimeSpace: 200, SeesAll: true}
	by := func(change func(*attribute.Attribute)) *attribute.Attribute {
		a := attribute.New(me, 7, false, true, time.Time{})
		a.PID, a.Start = 42, 1000
		if change != nil {
			change(&a)
		}
		return &a
	}
	otherBootOf := by(func(a *attribute.Attribute) { a.Boot[0]++ })
	runs := sys.Process{Presence: sys.Present, Start: 1000}
	for _, c := range []struct {
		name      string
		pid       int64 // 42 if 0
		single    bool  // not grouped
		noGroups  bool
		attribute *attribute.Attribute
		remote    bool
		marked    bool
		unseen    bool
		me        func(*sys.Self)
		process   sys.Process
		group     sys.Presence
		want      Verdict
		proof     string
	}{
		{name: "nobody can tell whether there are marked ones", unseen: true, process: sys.Process{Presence: sys.Absent}, group: sys.Absent, want: Unproven, proof: noAnswer},
		{name: "the same, and it runs", unseen: true, process: sys.Process{Presence: sys.Present}, group: sys.Present, want: Running, proof: processRuns},
		{name: "marked, whatever else", marked: true, process: sys.Process{Presence: sys.Absent}, group: sys.Absent, want: Running, proof: markedProcess},
		{name: "group runs", group: sys.Present, process: sys.Process{Presence: sys.Absent}, want: Running, proof: processRuns},
		{name: "group of another user", group: sys.Forbidden, want: Running, proof: otherUser},
		{name: "no such group", group: sys.Absent, process: runs, want: Stopped, proof: noSuchGroup},
		{name: "no such group, but not all is shown to us", group: sys.Absent, me: func(s *sys.Self) { s.SeesAll = false }, want: Unproven, proof: noAnswer},
		{name: "only members that nobody reaped", group: sys.Exited, want: Stopped, proof: notReaped},
		{name: "no answer", want: Unproven, proof: noAnswer},
		{name: "no groups here", noGroups: true, process: sys.Process{Presence: sys.Absent}, group: sys.Present, want: Stopped, proof: noSuchProcess},
		{name: "process runs", single: true, process: runs, group: sys.Absent, want: Running, proof: processRuns},
		{name: "process of another user", single: true, process: sys.Process{Presence: sys.Forbidden}, want: Running, proof: otherUser},
		{name: "no such process", single: true, process: sys.Process{Presence: sys.Absent}, group: sys.Present, want: Stopped, proof: noSuchProcess},
		{name: "process not reaped", single: true, process: sys.Process{Presence: sys.Exited}, want: Stopped, proof: notReaped},
		{name: "the number of a thread", single: true, process: sys.Process{Presence: sys.Present, Thread: true}, want: Stopped, proof: threadID},
		{name: "a number that no process has", pid: 1 << 31, group: sys.Absent, process: sys.Process{Presence: sys.Absent}, want: Unproven, proof: noAnswer},

		{name: "another boot", attribute: otherBootOf, group: sys.Present, process: runs, want: Stopped, proof: bootDiffers},
		{name: "another boot, its manager was not local", attribute: by(func(a *attribute.Attribute) { a.Boot[0]++; a.Local = false }), group: sys.Absent, want: Unproven, proof: otherBoot},
		{name: "another boot, we are not local", attribute: otherBootOf, remote: true, group: sys.Absent, want: Unproven, proof: otherBoot},
		{name: "our boot is unknown", attribute: by(nil), me: func(s *sys.Self) { s.Boot = [16]byte{} }, group: sys.Absent, want: Unproven, proof: otherBoot},
		{name: "another pid namespace", attribute: by(func(a *attribute.Attribute) { a.PIDSpace++ }), group: sys.Absent, want: Unproven, proof: otherNamespace},
		{name: "another start", attribute: by(nil), process: sys.Process{Presence: sys.Present, Start: 1001}, group: sys.Present, want: Stopped, proof: startDiffers},
		{name: "another time namespace: starts do not compare", attribute: by(func(a *attribute.Attribute) { a.TimeSpace++ }), process: sys.Process{Presence: sys.Present, Start: 1001}, group: sys.Present, want: Running, proof: processRuns},
		{name: "the same start", attribute: by(nil), process: runs, group: sys.Present, want: Running, proof: processRuns},
		{name: "leader gone, group runs", attribute: by(nil), process: sys.Process{Presence: sys.Absent}, group: sys.Present, want: Running, proof: processRuns},
		{name: "start unknown", attribute: by(func(a *attribute.Attribute) { a.Start = 0 }), process: runs, group: sys.Present, want: Running, proof: processRuns},
	} {
		t.Run(c.name, func(t *testing.T) {
			me := me
			if c.me != nil {
				c.me(&me)
			}
			if c.pid == 0 {
				c.pid = 42
			}
			verdict, proof := judge(evidence{
				run: recordedRun{c.pid, !c.single}, groups: !c.noGroups, attribute: c.attribute, local: !c.remote, me: me, marked: c.marked, unseen: c.unseen,
				process: func(pid int) sys.Process { assert.Equal(t, 42, pid); return c.process },
				group:   func(pid int) sys.Presence { assert.Equal(t, 42, pid); return c.group },
			})
			assert.Equal(t, c.want, verdict)
			assert.Equal(t, c.proof, proof)
		})
	}
}
