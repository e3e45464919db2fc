package filelock

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/holdfast-go/holdfast/internal/attribute"
	"github.com/holdfast-go/holdfast/internal/sys"
	"github.com/holdfast-go/holdfast/internal/testenv"
)

func init() {
	children["umask"] = childUmask
	children["headless"] = childHeadless
	children["unprivileged"] = childUnprivileged
	children["space"] = childSpace
}

// mount mounts until the test ends.
func mount(t *testing.T, source, at, kind, options string) {
	t.Helper()
	testenv.Root(t)
	require.NoError(t, os.MkdirAll(at, 0o755))
	if err := unix.Mount(source, at, kind, 0, options); err != nil {
		t.Skipf("cannot mount %s here: %v", kind, err)
	}
	t.Cleanup(func() { unix.Unmount(at, unix.MNT_DETACH) })
}

func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	mount(t, "none", dir, "tmpfs", "size=8k")
	for f := range forms {
		path := filepath.Join(dir, "settings.json")
		filler := filepath.Join(dir, "filler")
		require.Error(t, os.WriteFile(filler, make([]byte, 64<<10), 0o600))
		s := newStepped(refuse(sys.Unsupported, formRefusals[f]...))
		_, err := acquireFor(t, s, newProcess(), path)
		require.ErrorIs(t, err, syscall.ENOSPC, "form %d", f)
		assert.NotErrorIs(t, err, ErrUnavailable)
		assert.Equal(t, []string{"filler"}, entries(t, path), "form %d", f)

		require.NoError(t, os.Remove(filler))
		l, err := acquireFor(t, s, newProcess(), path, Wait(0))
		require.NoError(t, err)
		require.NoError(t, l.Release())
		assert.Empty(t, entries(t, path))
	}
}

func TestReadOnly(t *testing.T) {
	dir := t.TempDir()
	mount(t, "none", dir, "tmpfs", "size=64k")
	require.NoError(t, unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	_, err := try(t, filepath.Join(dir, "f"))
	require.ErrorIs(t, err, syscall.EROFS)
	assert.NotErrorIs(t, err, ErrUnavailable)
}

// childUnprivileged FILE: prints what an acquisition without waiting says.
func childUnprivileged(args []string) error {
	l, err := TryAcquire(context.Background(), args[0])
	if err != nil {
		fmt.Println(sys.KindOf(err), "|", err)
		return nil
	}
	fmt.Println("held")
	return l.Release()
}

// as runs a child as a user without privileges.
func as(t *testing.T, what string, args ...string) *exec.Cmd {
	t.Helper()
	testenv.Root(t)
	// the test binary lies where only root may go
	binary := filepath.Join(t.TempDir(), "test")
	for d := filepath.Dir(binary); d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
		require.NoError(t, os.Chmod(d, 0o755))
	}
	content, err := os.ReadFile(os.Args[0])
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(binary, content, 0o755))
	cmd := command(what, args...)
	cmd.Path = binary
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	return cmd
}

func TestAnotherUser(t *testing.T) {
	testenv.Root(t)
	path := target(t)
	dir := filepath.Dir(path)
	says := func() string {
		out, err := as(t, "unprivileged", path).Output()
		require.NoError(t, err)
		return string(out)
	}
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755))

	require.NoError(t, os.Chmod(dir, 0o755))
	assert.Contains(t, says(), "permission denied | "+path+".lock: cannot make the lock", "a directory that is not theirs")

	require.NoError(t, os.Chmod(dir, 0o777))
	require.NoError(t, os.WriteFile(path+lockSuffix, record(os.Getpid()), 0o644))
	require.NoError(t, os.Chmod(path+lockSuffix, 0o644))
	assert.Contains(t, says(), fmt.Sprintf("is held by PID %d", os.Getpid()), "EPERM means that it lives")
	assert.Contains(t, says(), "of another user")

	require.NoError(t, os.Chmod(path+lockSuffix, 0o600))
	assert.Contains(t, says(), "cannot be judged: it cannot be read: permission denied")
	assert.Equal(t, []string{"settings.json.lock"}, entries(t, path))

	// their own dead holder's lock beside ours, where ours may not be removed
	require.NoError(t, os.Chmod(dir, 0o777|fs.ModeSticky))
	require.NoError(t, os.WriteFile(path+lockSuffix, record(deadPID(t)), 0o644))
	require.NoError(t, os.Chmod(path+lockSuffix, 0o644))
	assert.Contains(t, says(), "which has exited and cannot be removed: operation not permitted")
	assert.Equal(t, []string{"settings.json.lock"}, entries(t, path))
}

func TestImmutableDirectory(t *testing.T) {
	testenv.Root(t)
	path := target(t)
	write(t, path+lockSuffix, record(deadPID(t)))
	if out, err := exec.Command("chattr", "+i", filepath.Dir(path)).CombinedOutput(); err != nil {
		t.Skipf("no immutable directories here: %s", out)
	}
	t.Cleanup(func() { exec.Command("chattr", "-i", filepath.Dir(path)).Run() })
	_, err := acquireFor(t, osSystem{}, newProcess(), path, Wait(50*time.Millisecond))
	require.ErrorIs(t, err, syscall.EPERM)
	assert.NotErrorIs(t, err, ErrHeld)
	assert.Contains(t, err.Error(), ".takeover-")
}

// childUmask FILE: acquires and releases under the umask that its parent set.
func childUmask(args []string) error {
	mask, err := strconv.ParseInt(args[1], 8, 32)
	if err != nil {
		return err
	}
	unix.Umask(int(mask))
	f, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	s := newStepped(refuse(sys.Unsupported, formRefusals[form(f)]...))
	l, err := acquire(context.Background(), s, newProcess(), args[0], newOptions(nil))
	if err != nil {
		return err
	}
	info, err := os.Lstat(args[0] + lockSuffix)
	if err != nil {
		return err
	}
	fmt.Println(info.Mode())
	return l.Release()
}

func TestUmask(t *testing.T) {
	for _, mask := range []string{"0777", "0277", "0077", "0000"} {
		for f := range forms {
			out, err := command("umask", target(t), mask, strconv.Itoa(int(f))).Output()
			require.NoError(t, err)
			assert.Equal(t, "-rw-------\n", string(out), "umask %s, form %d", mask, f)
		}
	}
}

func TestHolderNotReaped(t *testing.T) {
	cmd := command("idle")
	require.NoError(t, cmd.Start())
	defer cmd.Wait()
	require.Eventually(t, func() bool { return sys.Probe(cmd.Process.Pid).Presence == sys.Exited }, eventually, time.Millisecond)
	path := target(t)
	write(t, path+lockSuffix, record(cmd.Process.Pid))
	l, err := try(t, path)
	require.NoError(t, err)
	taken, _ := l.Takeover()
	assert.Equal(t, string(notReaped), taken.Proof)
	require.NoError(t, l.Release())
}

func TestNumberOfAThread(t *testing.T) {
	tids, err := os.ReadDir("/proc/self/task")
	require.NoError(t, err)
	var tid int
	for _, e := range tids {
		if n, _ := strconv.Atoi(e.Name()); n != os.Getpid() {
			tid = n
		}
	}
	require.NotZero(t, tid, "this process has one thread only")
	path := target(t)
	write(t, path+lockSuffix, record(tid))
	l, err := try(t, path)
	require.NoError(t, err)
	taken, _ := l.Takeover()
	assert.Equal(t, string(threadID), taken.Proof)
	require.NoError(t, l.Release())
}

// childHeadless FILE: holds with a main thread that has ended.
func childHeadless(args []string) error {
	l, err := Acquire(context.Background(), args[0])
	if err != nil {
		return err
	}
	go func() {
		fmt.Println("held")
		var b [1]byte
		os.Stdin.Read(b[:])
		l.Release()
		fmt.Println("released")
		os.Exit(0)
	}()
	unix.RawSyscall(unix.SYS_EXIT, 0, 0, 0)
	return nil
}

// What is locked to its thread in an init function stays on the main thread.
func init() {
	if os.Getenv(childEnv) == "headless" {
		runtime.LockOSThread()
	}
}

func TestMainThreadHasEnded(t *testing.T) {
	path := target(t)
	holder := start(t, command("headless", path))
	require.Equal(t, "held", holder.line())
	pid := holder.cmd.Process.Pid
	require.Eventually(t, func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err == nil && strings.Contains(string(stat), ") Z ")
	}, eventually, time.Millisecond, "the letter is Z")
	assert.Equal(t, sys.Present, sys.Probe(pid).Presence)
	// without guard and attribute, as Node writes it
	other := target(t)
	write(t, other+lockSuffix, record(pid))
	_, err := try(t, other)
	var held *HeldError
	require.ErrorAs(t, err, &held)
	assert.Equal(t, string(processRuns), held.Holder.Why)
	_, err = try(t, path)
	require.ErrorIs(t, err, ErrHeld)
}

// forge writes a lock with an attribute that a test has changed.
func forge(t *testing.T, path string, content []byte, change func(*attribute.Attribute)) {
	t.Helper()
	write(t, path+lockSuffix, content)
	f, err := os.Open(path + lockSuffix)
	require.NoError(t, err)
	defer f.Close()
	var st unix.Stat_t
	require.NoError(t, unix.Fstat(int(f.Fd()), &st))
	a := attribute.New(sys.Me(), st.Dev, true, true, time.Now())
	change(&a)
	if err := unix.Fsetxattr(int(f.Fd()), attribute.Name, a.Append(nil), 0); err != nil {
		t.Skipf("no user attributes here: %v", err)
	}
}

func proofOf(t *testing.T, path string) string {
	t.Helper()
	l, err := try(t, path)
	require.NoError(t, err)
	taken, _ := l.Takeover()
	require.NoError(t, l.Release())
	assert.Empty(t, entries(t, path))
	return taken.Proof
}

func TestAttributeOnDisk(t *testing.T) {
	path := target(t)
	l, err := try(t, path)
	require.NoError(t, err)
	var raw [100]byte
	n, err := unix.Getxattr(path+lockSuffix, attribute.Name, raw[:])
	if err != nil {
		t.Skipf("no user attributes here: %v", err)
	}
	a, ok := attribute.Parse(raw[:n])
	require.True(t, ok)
	me := sys.Me()
	assert.Equal(t, attribute.New(me, l.inode.id.Dev, true, a.Local, a.Prepared), a)
	assert.NotZero(t, me.Start)
	var ns unix.Stat_t
	require.NoError(t, unix.Stat("/proc/self/ns/pid", &ns))
	assert.Equal(t, uint32(ns.Ino), a.PIDSpace)
	require.NoError(t, unix.Stat("/proc/self/ns/time", &ns))
	assert.Equal(t, uint32(ns.Ino), a.TimeSpace)
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	require.NoError(t, err)
	assert.Equal(t, strings.TrimSpace(string(boot)), fmt.Sprintf("%x-%x-%x-%x-%x", a.Boot[:4], a.Boot[4:6], a.Boot[6:8], a.Boot[8:10], a.Boot[10:]))
	stat, err := os.ReadFile("/proc/self/stat")
	require.NoError(t, err)
	assert.Equal(t, strconv.FormatUint(a.Start, 10), strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+2:]))[19])
	require.NoError(t, l.Release())
}

// The machine was rebooted, and the number is a live stranger's now.
func TestRebooted(t *testing.T) {
	path := target(t)
	forge(t, path, record(1), func(a *attribute.Attribute) { a.PID, a.Boot[3] = 1, a.Boot[3]+1 })
	assert.Equal(t, string(bootDiffers), proofOf(t, path))
}

// The number of a dead holder that meant its process elsewhere, or before the machine was restarted, is not said to be one of
// here.
func TestTakeoverOfAForeignNumber(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*attribute.Attribute)
		foreign bool
	}{
		"ours":      {func(*attribute.Attribute) {}, false},
		"elsewhere": {func(a *attribute.Attribute) { a.PIDSpace++ }, true},
		"earlier":   {func(a *attribute.Attribute) { a.Boot[3]++ }, true},
	} {
		path := target(t)
		forge(t, path, record(4242), func(a *attribute.Attribute) { a.PID = 4242; c.change(a) })
		_, err := try(t, path, NoTakeover())
		var held *HeldError
		require.ErrorAs(t, err, &held)
		assert.Equal(t, c.foreign, strings.Contains(err.Error(), "PID 4242 of another PID namespace or boot, which has exited"), err)
		l, err := try(t, path)
		require.NoError(t, err)
		taken, _ := l.Takeover()
		assert.Equal(t, 4242, taken.PID, name)
		assert.Equal(t, c.foreign, taken.Foreign, name)
		require.NoError(t, l.Release())

		if name == "earlier" {
			continue
		}
		place := newPlace(t)
		space := sys.Me().PIDSpace
		if c.foreign {
			space++
		}
		writeMode(t, namedPath(t, place, AllUsers, name), owner{4242, space, time.Now()}.content(), 0o666)
		taken, _ = TakeoverOf(mustNamed(t, namedIn(place, AllUsers, name)))
		assert.Equal(t, 4242, taken.PID, name)
		assert.Equal(t, c.foreign, taken.Foreign, name)
	}
}

// A number that was used again is told by its start time even where the guard says nothing.
func TestNumberUsedAgain(t *testing.T) {
	path := target(t)
	forge(t, path, record(1), func(a *attribute.Attribute) { a.PID, a.Guarded, a.Start = 1, false, a.Start+1 })
	assert.Equal(t, string(startDiffers), proofOf(t, path))
}

// A power cut keeps names and attributes and may lose data.
func TestEmptyLockWithItsAttribute(t *testing.T) {
	path := target(t)
	forge(t, path, nil, func(a *attribute.Attribute) { a.PID, a.Boot[3] = 4242, a.Boot[3]+1 })
	var claims []string
	s := newStepped(func(st step) error {
		if st.op == "linkUnnamed" && st.claim() && !st.after {
			claims = append(claims, st.name)
		}
		return nil
	})
	l, err := acquireFor(t, s, newProcess(), path, Wait(0))
	require.NoError(t, err)
	assert.Equal(t, []string{claimName("settings.json.lock", nil)}, claims)
	taken, _ := l.Takeover()
	assert.Equal(t, 4242, taken.PID)
	require.NoError(t, l.Release())
}

// Every state that a power cut can leave of a lock and a claim on it, names and attributes kept, data perhaps not: the next
// boot's contender gets in, or its error names the file that nobody can prove dead.
func TestStatesAfterAPowerCut(t *testing.T) {
	type file struct{ data, attribute bool }
	states := map[string]*file{
		"absent": nil, "whole": {true, true}, "empty": {false, true}, "without its attribute": {true, false}, "bare": {false, false},
	}
	dead := record(deadPID(t))
	leave := func(t *testing.T, path string, f *file) {
		if f == nil {
			return
		}
		content := dead
		if !f.data {
			content = nil
		}
		if f.attribute {
			forge(t, strings.TrimSuffix(path, lockSuffix), content, func(a *attribute.Attribute) { a.PID, a.Boot[3] = 4242, a.Boot[3]+1 })
			return
		}
		write(t, path, content)
	}
	for lockState, l := range states {
		for claimState, c := range states {
			t.Run("lock "+lockState+", claim "+claimState, func(t *testing.T) {
				path := target(t)
				leave(t, path+lockSuffix, l)
				content := dead
				if l != nil && !l.data {
					content = nil
				}
				claim := filepath.Join(filepath.Dir(path), claimName("settings.json.lock", content))
				if c != nil {
					leave(t, filepath.Join(filepath.Dir(path), "claim.lock"), c)
					require.NoError(t, os.Rename(filepath.Join(filepath.Dir(path), "claim.lock"), claim))
				}
				got, err := try(t, path)
				bare := lockState == "bare" || claimState == "bare" && lockState != "absent"
				if !bare {
					require.NoError(t, err)
					require.NoError(t, got.Release())
					return
				}
				var held *HeldError
				require.ErrorAs(t, err, &held)
				assert.True(t, held.Stuck())
				culprit := path + lockSuffix
				if lockState != "bare" {
					culprit = claim
				}
				assert.Contains(t, err.Error(), culprit)
				assert.Contains(t, err.Error(), "is empty")
			})
		}
	}
}

// A shell script writes over a dead holder's lock: inode and attribute stay, and the attribute no longer counts.
func TestRecordWrittenOverALock(t *testing.T) {
	path := target(t)
	holder := start(t, command("hold", path))
	holder.line()
	holder.kill()
	write(t, path+lockSuffix, []byte("1\n"))
	_, err := unix.Getxattr(path+lockSuffix, attribute.Name, make([]byte, 100))
	if err != nil {
		t.Skipf("no user attributes here: %v", err)
	}
	_, err = try(t, path)
	var held *HeldError
	require.ErrorAs(t, err, &held)
	assert.Equal(t, 1, held.Holder.PID)
	assert.Equal(t, Alive, held.Holder.State)
}

// A holder above an overlay keeps its kernel lock there: from the directory below, the guard of a live holder is free.
func TestHolderAboveAnOverlay(t *testing.T) {
	// the upper directory of an overlay must not lie on an overlay itself
	top := t.TempDir()
	mount(t, "none", top, "tmpfs", "size=1m")
	for _, d := range []string{"lower", "upper", "work", "merged"} {
		require.NoError(t, os.Mkdir(filepath.Join(top, d), 0o755))
	}
	at := func(d string) string { return filepath.Join(top, d) }
	mount(t, "overlay", at("merged"), "overlay", fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", at("lower"), at("upper"), at("work")))
	holder := start(t, command("hold", filepath.Join(at("merged"), "f")))
	holder.line()
	below := filepath.Join(at("upper"), "f")
	f, err := os.Open(below + lockSuffix)
	require.NoError(t, err)
	assert.NoError(t, unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB), "this test needs the guard to be free from below")
	require.NoError(t, f.Close())
	_, err = try(t, below)
	var held *HeldError
	require.ErrorAs(t, err, &held)
	assert.Equal(t, holder.cmd.Process.Pid, held.Holder.PID)
	holder.kill()
	l, err := try(t, below)
	require.NoError(t, err)
	require.NoError(t, l.Release())
}

// childSpace FILE: as childHold, told which process number it has.
func childSpace(args []string) error {
	fmt.Printf("pid %d, /proc is ours: %v\n", os.Getpid(), sys.Me().Start != 0)
	return childHold(args)
}

func inPIDSpace(cmd *exec.Cmd) *exec.Cmd {
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL}
	return cmd
}

// Two processes that are both number 1, in namespaces of their own without a /proc of their own, in one directory.
func TestTwoProcessesWithOneNumber(t *testing.T) {
	testenv.Root(t)
	path := target(t)
	first := start(t, inPIDSpace(command("space", path)))
	require.Equal(t, "pid 1, /proc is ours: false", first.line())
	require.Contains(t, first.line(), "held 1 ")

	second := inPIDSpace(command("space", path, "0s"))
	var says strings.Builder
	second.Stderr = &says
	require.Error(t, second.Run(), "never both inside")
	assert.Contains(t, says.String(), "is held by PID 1")

	_, err := try(t, path)
	var held *HeldError
	require.ErrorAs(t, err, &held)
	assert.Empty(t, held.Holder.Command, "our process 1 is another one")

	waiting := start(t, inPIDSpace(command("space", path, "1m")))
	waiting.line()
	first.kill()
	assert.Equal(t, "held 1 guard-free", waiting.line(), "a restarted container recovers its own dead lock")
	waiting.kill()

	again := start(t, inPIDSpace(command("space", path, "0s")))
	again.line()
	assert.Equal(t, "held 1 guard-free", again.line())
	again.end()
	assert.Empty(t, entries(t, path))
}

// Numbers from another namespace's /proc decide nothing: a dead holder there is judged by its guard, and a record without
// one is not judged by a stranger's number.
func TestForeignProc(t *testing.T) {
	testenv.Root(t)
	path := target(t)
	write(t, path+lockSuffix, []byte("1\n")) // Node's, of a process 1 somewhere
	cmd := inPIDSpace(command("space", path, "0s"))
	var says strings.Builder
	cmd.Stderr = &says
	require.Error(t, cmd.Run())
	assert.Contains(t, says.String(), "it names our own PID 1 but is not ours")
	assert.Equal(t, []string{"settings.json.lock"}, entries(t, path))
}

// Start times are counted per time namespace: another offset makes a live holder's look different.
func TestAnotherTimeSpace(t *testing.T) {
	testenv.Root(t)
	if _, err := exec.LookPath("unshare"); err != nil {
		t.Skip("no unshare")
	}
	path := target(t)
	holder := start(t, command("idle"))
	holder.line()
	pid := holder.cmd.Process.Pid
	forge(t, path, record(pid), func(a *attribute.Attribute) { a.PID, a.Guarded, a.Start = pid, false, sys.Probe(pid).Start })
	cmd := command("unprivileged", path)
	cmd.Args = append([]string{"unshare", "-T", "--boottime", "1000000", "--fork", os.Args[0]}, cmd.Args[1:]...)
	var err error
	cmd.Path, err = exec.LookPath("unshare")
	require.NoError(t, err)
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("no time namespaces here: %v", err)
	}
	assert.Contains(t, string(out), fmt.Sprintf("is held by PID %d", pid))
	assert.Equal(t, []string{"settings.json.lock"}, entries(t, path))
}
