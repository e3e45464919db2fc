package filelock

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// mutant is one safety step changed in one place. It must be caught: by a schedule, or by the test named where the simulated
// machine has no such thing.
type mutant struct {
	name, file, old, new string
	by                   string // a test; empty: any schedule; otherwise the world whose schedules catch it
}

var mutants = []mutant{
	{"publishing replaces what is there", "publish.go", "err = c.dir.moveNew(file, temp, name)", "err = c.dir.replace(file, temp, name)", ""},
	{"an empty record is published", "publish.go", "len(record) > 0; {", "false; {", ""},
	{"a lock that was published after all is taken for a failure", "publish.go", "case err == nil || c.means(name, i.id): //", "case err == nil: //", "A B, a fault"},
	{"the same for a moved or linked one", "publish.go", "if err != nil && !c.means(name, i.id) {", "if err != nil {", "A B, a fault"},
	{"the temporary name of a linked lock stays", "publish.go", "if f == linked || c.means(temp, i.id) {", "if false {", "A B"},
	{"an incomplete lock stays", "publish.go", "statErr == nil && c.means(name, info.ID)", "statErr == nil && c.means(name, info.ID) && false", "TestEveryStepFails"},
	{"the lock is said to be guarded and is not", "publish.go", "guarded: c.guard(f, patient)", "guarded: true", ""},
	{"the mode is the umask's", "publish.go", "if info.Mode.Perm() != recordMode {", "if false {", "TestUmask"},
	{"a prepared lock is published with old times", "publish.go", "c.sys.now().Sub(i.preparedAt) > stale", "false", "TestTimesAreFreshWhenPublished"},

	{"a held guard says nothing", "verdict.go", "if e.guard == guardHeldByThem {", "if false {", ""},
	{"a guard that was not told is none", "look.go", "return guardFailed, err", "return guardNone, err", "A, and B in another namespace, the guard not told"},
	{"a guard that was not told may only be the process's that is named", "verdict.go", "(e.attribute == nil || !e.attribute.Guarded)", "e.attribute == nil", "TestJudge"},
	{"an attribute that was not told is none", "verdict.go", "if e.unread {", "if false {", "TestUnansweredQuestions"},
	{"a free guard is enough, guarded or not", "verdict.go", "if a.Guarded && a.Local", "if a.Local", "TestJudge"},
	{"a free guard is enough, seen from anywhere", "verdict.go", " && a.Device == e.device", "", "TestHolderAboveAnOverlay"},
	{"a free guard proves nothing", "verdict.go", " && e.guard == guardIsFree {", " && false {", "TestKilledHolder"},
	{"another namespace's number is judged", "verdict.go", "if a.PIDSpace != e.me.PIDSpace {", "if false {", ""},
	{"another boot's lock is gone, local or not", "verdict.go", "if a.Local && e.local() {", "if true {", "TestJudge"},
	{"another boot's lock is never gone", "verdict.go", "if a.Local && e.local() {", "if false {", "TestRebooted"},
	{"the same start time means another process", "verdict.go", "a.Start != p.Start {", "a.Start == p.Start {", "A B"},
	{"start times are compared across time namespaces", "verdict.go", "if a.TimeSpace == e.me.TimeSpace && ", "if ", "TestAnotherTimeSpace"},
	{"a present process is gone", "verdict.go", "return alive, processRuns", "return gone, processRuns", ""},
	{"another user's process is gone", "verdict.go", "return alive, otherUser", "return gone, otherUser", "TestAnotherUser"},
	{"no answer is an answer", "verdict.go", "return unproven, noAnswer", "return gone, noAnswer", "TestJudge"},
	{"bytes that name nobody are gone", "verdict.go", "return unproven, noRecord", "return gone, noRecord", ""},
	{"our own number is judged like another's", "verdict.go", "return unproven, ourNumber", "return gone, ourNumber", "TestForeignProc"},
	{"any attribute counts", "look.go", "a.PID == s.pid || n == 0", "true", "TestRecordWrittenOverALock"},

	{"the claim is not one for all", "takeover.go", "name := claimName(c.name, dead.bytes)", "name := claimName(c.name, appendRecord(nil, c.sys.self().PID))", "dead holder: A B"},
	{"no pin", "takeover.go", "if !c.means(c.name, dead.info.ID) {", "if false {", "dead holder: A B"},
	{"no second probe", "takeover.go", "if !c.stillDead(dead) {", "if false {", "dead holder: A B"},
	{"the second probe takes the first one's word", "takeover.go", "dead.verdict == gone && string(dead.bytes) == before", "string(dead.bytes) == before", "TestChangedBetweenLookAndAct"},
	{"the second probe takes other bytes", "takeover.go", "return dead.verdict == gone && string(dead.bytes) == before", "_ = before\n\treturn dead.verdict == gone", "TestChangedBetweenLookAndAct"},
	{"a claim that came to nothing stays", "takeover.go", "if claim != nil {", "if false {", "dead holder: A B"},
	{"a live claimant's claim is adopted", "takeover.go", "if seen.verdict != gone {", "if false {", "TestClaimOfALiveContender"},
	{"a claim is adopted without its kernel lock", "takeover.go", "err = seen.file.TryLock(true)", "err = nil", "dead claimant: A B"},
	{"a claim is adopted that has lost its name", "takeover.go", "if err != nil || !c.means(name, seen.info.ID) {", "if err != nil {", "TestChangedBetweenLookAndAct"},
	{"dead claims are not adopted", "takeover.go", "if seen.verdict != gone {", "if true {", "dead claimant: A B"},
	{"somebody else's claim is removed", "takeover.go", "if c.means(claim.name, claim.id) {", "if true {", "TestChangedBetweenLookAndAct"},
	{"the successor is not told", "takeover.go", "c.taken = &Takeover{PID: dead.pid, Proof: string(dead.proof), Since: was.Since, Foreign: was.Foreign}", "", "dead holder: A B"},
	{"the name is free in a takeover", "takeover.go", "if claim.ours != nil && !c.sys.namesLinger() {", "if false {", "TestThirdContenderKnows"},
	{"a lock whose end is not known counts as ended", "takeover.go", "left(c.dir, c.name, dead.info.ID)", "!c.means(c.name, dead.info.ID)", "TestRemovalsThatMayHaveFailed"},
	{"a lock that cannot be ended counts as ended", "takeover.go", "if err == nil || c.means(c.name, claim.id) {", "if true {", "TestTakeoverWithAFailingStep"},

	{"the guard goes before the name", "hold.go", "\terr := l.unpublish()\n", "\tl.inode.file.Close()\n\terr := l.unpublish()\n", "A B"},
	{"a lock that may still be there counts as released", "hold.go", "left(l.dir, l.name, l.inode.id)", "!means(l.dir, l.name, l.inode.id)", "TestRemovalsThatMayHaveFailed"},
	{"a panic of the caller's keeps the place", "protocol.go", "\t\tif l == nil {\n\t\t\tc.process.leave(place)\n\t\t}\n", "", "TestPanics"},
	{"a panic of the caller's keeps the lock", "protocol.go", "if !returned {", "if !returned && false {", "TestPanics"},
	{"a panic in a takeover keeps the lock", "takeover.go", "claim.name = c.name", "", "TestPanics"},
	{"a look that failed is the lock's fault", "protocol.go", "if s.failed == nil {", "if true {", "TestLooksThatFail"},
	{"a release removes whatever is there", "hold.go", "\tif l.err == nil {\n\t\tl.verify()\n\t}\n", "", "TestReleaseOrder|TestLockDeletedWhileHeld|TestWithReturnsTheLoss"},
	{"a loss is not noticed", "hold.go", "case err == nil && info.ID == l.inode.id:", "case err == nil || info.ID == l.inode.id:", "A B, an operator deletes"},
	{"an unanswered check is a loss", "hold.go", "case err != nil && !sys.IsKind(err, sys.NotExist):", "case err != nil && !sys.IsKind(err, sys.NotExist) && false:", "A B, a fault"},
	{"the times of a held lock grow old", "hold.go", "_ = l.inode.file.Touch()", "", "TestHeartbeat"},
	{"a dropped lock is collected", "queue.go", "p.held[l.inode.id] = l", "", "TestDroppedLockIsStillHeld"},

	{"what changed before the watch is missed", "wake.go", " && left(c.dir, seen.name, seen.info.ID) {", " && false {", "TestChangedBeforeTheWatch"},
	{"what was gone before the watch is missed", "wake.go", "(err == nil || sys.IsKind(err, sys.NotExist))", "err == nil", "TestChangedBeforeTheWatch"},
	{"who was dead before the watch is missed", "wake.go", "if sys.IsKind(err, sys.NoProcess) && !c.runs(seen.pid) {", "if false {", "TestChangedBeforeTheWatch"},
	{"a watch of the name that is refused wakes", "wake.go", " && left(c.dir, seen.name, seen.info.ID) {", " && (err != nil || left(c.dir, seen.name, seen.info.ID)) {", "TestWatchesRefused"},
	{"a watch of the process that is refused wakes", "wake.go", "if sys.IsKind(err, sys.NoProcess) && !c.runs(seen.pid) {", "if sys.IsKind(err, sys.NoProcess) {", "TestWatchesRefused"},
	{"a state that stays ends each pause", "wake.go", "if seen.same(c.unmoved) {", "if false {", "TestGuardOfAnotherMachine"},
	{"a state that stays is a lost race", "wake.go", "if w.named.Load() || !block.seen().same(before.seen()) {", "if true {", "TestGuardOfAnotherMachine"},
	{"another lock on the same inode is the same", "wake.go", "return *s.attribute == *other.attribute", "return true", "TestSame"},
	{"the holder's death wakes nobody", "wake.go", "if seen.verdict == alive && seen.pid != c.sys.self().PID && c.isOurSpace(seen) {", "if false {", "TestWoken"},
	{"the end of a claim wakes nobody", "wake.go", "if o.claim != nil {", "if false {", "TestWokenByAClaim"},
	{"watches stay", "wake.go", "\t\tstop()\n", "\t\t_ = stop\n", "TestNothingIsWatchedAfterwards"},
	{"woken waiters fill every gap", "protocol.go", "c.sitsOut = c.beatenTo(block, before, w) && !c.opts.eager", "c.sitsOut = c.beatenTo(block, before, w) && false", "TestLostRaces"},
	{"eager waiters are courteous", "protocol.go", "c.sitsOut = c.beatenTo(block, before, w) && !c.opts.eager", "c.sitsOut = c.beatenTo(block, before, w)", "TestLostRaces"},
	{"every pause is a lost race", "protocol.go", "c.beatenTo(block, before, w) &&", "(c.beatenTo(block, before, w) || w != nil) &&", "TestPollsAreNoLostRaces"},
	{"winners do not rest", "wake.go", "rest := c.process.rest(k, now)", "rest := time.Duration(0)", "TestRest"},
	{"winners rest without having lost", "protocol.go", "if c.beaten {", "if true {", "TestRest"},
	{"winners rest for longer than they wait", "wake.go", "\trest = min(rest, c.opts.wait-now.Sub(c.started))\n", "", "TestRest"},
	{"eager winners rest", "protocol.go", "\tif err == nil && !c.opts.eager {", "\tif err == nil {", "TestRest"},
	{"goroutines hand the lock on for ever", "wake.go", "!head && c.process.overdue(k, now)", "false", "TestStreak"},
	{"a streak that ended goes on", "queue.go", "if overdue || !ok {", "if !ok {", "TestStreak"},
	{"a streak outlives its queue", "queue.go", "\t\tdelete(p.streaks, mine.key)\n", "", "TestStreak"},
}

// Every mutant is caught. A few of them where nobody asked for more.
func TestMutants(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil || runtime.GOOS != "linux" {
		t.Skip("needs the go command on Linux")
	}
	if _, mutated := os.LookupEnv(mutantEnv); mutated {
		t.Skip("this is a mutant")
	}
	chosen := mutants
	if !wholeProof() {
		chosen = slices.DeleteFunc(slices.Clone(mutants), func(m mutant) bool { return m.name != "no pin" && m.name != "a loss is not noticed" })
	}
	for _, m := range chosen {
		t.Run(m.name, func(t *testing.T) {
			tests, world := m.by, ""
			if !strings.HasPrefix(tests, "Test") {
				tests, world = "TestInterleavings", m.by
			}
			out := m.run(t, tests, world)
			caught := regexp.MustCompile(`--- FAIL: (\S+)`).FindStringSubmatch(out)
			require.NotNil(t, caught, "%s survived:\n%s", m.name, out)
			what := caught[1]
			if where := regexp.MustCompile(`Messages:\s+(.* \| [^:]*):`).FindStringSubmatch(out); where != nil {
				what = where[1]
			}
			t.Logf("caught by %s", what)
		})
	}
}

// mutantEnv says that this is a mutant, and names the one world to try; empty: all.
const mutantEnv = "HOLDFAST_TEST_MUTANT"

// run runs tests on a copy with the change.
func (m mutant) run(t *testing.T, tests, world string) (out string) {
	t.Helper()
	source, err := os.ReadFile(m.file)
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(source), m.old), "%s: %q", m.file, m.old)
	dir := t.TempDir()
	changed, overlay := filepath.Join(dir, m.file), filepath.Join(dir, "overlay.json")
	write(t, changed, []byte(strings.Replace(string(source), m.old, m.new, 1)))
	here, err := filepath.Abs(m.file)
	require.NoError(t, err)
	write(t, overlay, fmt.Appendf(nil, `{"Replace":{%q:%q}}`, here, changed))
	cmd := exec.Command("go", "test", "-count=1", "-vet=off", "-overlay="+overlay, "-run=^("+tests+")$", ".")
	cmd.Env = append(os.Environ(), "GOFLAGS=", "HOLDFAST_PROOF=", "HOLDFAST_REQUIRE=", mutantEnv+"="+world)
	result, err := cmd.CombinedOutput()
	require.Error(t, err, "%s survived:\n%s", m.name, result)
	assert.NotContains(t, string(result), "[build failed]")
	return string(result)
}
