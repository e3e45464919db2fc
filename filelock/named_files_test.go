//go:build unix

package filelock

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/holdfast-go/holdfast/internal/sys"
)

// namedPath is where the lock's file must be.
func namedPath(t testing.TB, place string, scope Scope, name string) string {
	t.Helper()
	p, err := machineAt(place).(namedFiles).place(namedIn(place, scope, name))
	require.NoError(t, err)
	return p.path
}

func TestNamedPlaces(t *testing.T) {
	for _, c := range []struct{ goos, base string }{
		{"linux", "/run/lock"}, {"darwin", "/private/var/tmp"}, {"freebsd", "/var/tmp"}, {"netbsd", "/var/tmp"},
		{"dragonfly", "/var/tmp"}, {"illumos", "/var/tmp"}, {"openbsd", "/tmp"},
	} {
		assert.Equal(t, c.base, namedBase(c.goos), c.goos)
	}
	for _, v := range []string{"TMPDIR", "HOME", "XDG_RUNTIME_DIR"} {
		t.Setenv(v, t.TempDir())
	}
	m := osNamed().(namedFiles)
	assert.Equal(t, namedBase(runtime.GOOS), m.base)
	assert.Zero(t, m.owner, "root")
	m.base = "/base"
	file := namedFileName("a")
	for scope, want := range map[Scope]string{
		AllUsers:      "/base/holdfast-all-" + file,
		Group("12"):   "/base/holdfast-group-12-" + file,
		CurrentUser:   fmt.Sprintf("/base/holdfast-user-%d/%s", os.Geteuid(), file),
		Group("root"): "/base/holdfast-group-0-" + file,
	} {
		if _, err := (osSystem{}).groupID("root"); err != nil && scope == Group("root") {
			continue
		}
		p, err := m.place(namedLocker{name: "a", scope: scope})
		require.NoError(t, err)
		assert.Equal(t, want, p.path)
	}
}

// The number that chown takes for "as it is" is no group, and nothing is left of the attempt.
func TestNamedGroupThatIsNone(t *testing.T) {
	place := newPlace(t)
	_, err := namedIn(place, Group("4294967295"), "name").TryAcquire(context.Background())
	assert.ErrorIs(t, err, ErrMisconfigured)
	assert.Empty(t, entries(t, filepath.Join(place, "x")))
}

// Everybody in the scope can lock the file, and nobody else, whatever the umask.
func TestNamedOnDisk(t *testing.T) {
	for _, umask := range []int{0, 0o022, 0o077, 0o277, 0o777} {
		for f, refused := range namedForms {
			place := newPlace(t)
			for scope, perm := range map[Scope]fs.FileMode{AllUsers: 0o666, CurrentUser: 0o600, Group(otherGroup): 0o660} {
				l := namedIn(place, scope, "name")
				l.machine = failing(place, func(op string) error {
					for _, r := range refused {
						if op == r {
							return sys.Unsupported
						}
					}
					return nil
				})
				before := syscall.Umask(umask)
				lease, err := l.TryAcquire(context.Background())
				syscall.Umask(before)
				require.NoError(t, err, "%v %#o %s", scope, umask, f)
				path := namedPath(t, place, scope, "name")
				info, err := os.Lstat(path)
				require.NoError(t, err)
				assert.Equal(t, perm, info.Mode(), "%v %#o %s", scope, umask, f)
				st := info.Sys().(*syscall.Stat_t)
				assert.EqualValues(t, os.Geteuid(), st.Uid)
				if scope == Group(otherGroup) {
					assert.Equal(t, otherGroup, fmt.Sprint(st.Gid))
				}
				content, err := os.ReadFile(path)
				require.NoError(t, err)
				assert.Regexp(t, fmt.Sprintf("^held by process %d of pid namespace \\d+ since 2.+Z *\n$", os.Getpid()), string(content))
				assert.Len(t, content, ownerSize)

				require.NoError(t, lease.Release())
				content, err = os.ReadFile(path)
				require.NoError(t, err)
				assert.Empty(t, strings.TrimSpace(string(content)), "after a release")
			}
			user := fmt.Sprintf("holdfast-user-%d", os.Geteuid())
			info, err := os.Lstat(filepath.Join(place, user))
			require.NoError(t, err)
			assert.Equal(t, 0o700|fs.ModeDir, info.Mode().Type()|info.Mode().Perm())
			assert.ElementsMatch(t, []string{
				"holdfast-all-" + namedFileName("name"), "holdfast-group-" + otherGroup + "-" + namedFileName("name"), user,
			}, entries(t, filepath.Join(place, "x")), "nothing else is left")
			assert.Equal(t, []string{namedFileName("name")}, entries(t, filepath.Join(place, user, "x")))
		}
	}
}

// namedForms are the ways of making a file, by what has to be refused for them to be taken.
var namedForms = map[string][]string{
	"unnamed":   nil,
	"no /proc":  {"linkUnnamed"},
	"moved":     {"createUnnamed"},
	"exclusive": {"createUnnamed", "moveNew"},
}

// What may lie in the lock file's place is refused, and not touched.
func TestNamedPlanted(t *testing.T) {
	foreign := []byte("123\n")
	plant := map[string]struct {
		do   func(t *testing.T, victim, path string)
		says string
	}{
		"a link to a file":      {func(t *testing.T, victim, path string) { require.NoError(t, os.Symlink(victim, path)) }, "it is a symbolic link"},
		"a link to nothing":     {func(t *testing.T, victim, path string) { require.NoError(t, os.Symlink(victim+"x", path)) }, "it is a symbolic link"},
		"a FIFO":                {func(t *testing.T, _, path string) { require.NoError(t, unix.Mkfifo(path, 0o666)) }, "it is a FIFO"},
		"a directory":           {func(t *testing.T, _, path string) { require.NoError(t, os.Mkdir(path, 0o777)) }, "it is a directory"},
		"a second name":         {func(t *testing.T, victim, path string) { require.NoError(t, os.Link(victim, path)) }, "it has 2 names"},
		"a moved file":          {func(t *testing.T, victim, path string) { require.NoError(t, os.Rename(victim, path)) }, "its content is not that of a named lock"},
		"a file with less mode": {func(t *testing.T, _, path string) { writeMode(t, path, nil, 0o400) }, "its mode is -r--------, not -rw-"},
		"a file with more mode": {func(t *testing.T, _, path string) { writeMode(t, path, nil, 0o667) }, "its mode is -rw-rw-rwx, not -rw-"},
		"a setuid file":         {func(t *testing.T, _, path string) { writeMode(t, path, nil, 0o666|fs.ModeSetuid) }, "its mode is u"},
	}
	for name, p := range plant {
		for scope, perm := range map[Scope]fs.FileMode{AllUsers: 0o666, CurrentUser: 0o600, Group(someGroup): 0o660} {
			place := newPlace(t)
			path := namedPath(t, place, scope, "name")
			victim := filepath.Join(place, "victim")
			writeMode(t, victim, foreign, perm)
			if scope == CurrentUser {
				require.NoError(t, os.Mkdir(filepath.Dir(path), 0o700))
			}
			p.do(t, victim, path)
			before, err := os.Lstat(path)
			require.NoError(t, err)
			_, err = namedIn(place, scope, "name").TryAcquire(context.Background())
			assert.ErrorIs(t, err, ErrMisconfigured, "%s %s", name, scope)
			assert.NotErrorIs(t, err, ErrHeld)
			assert.ErrorContains(t, err, p.says)
			assert.ErrorContains(t, err, path)

			after, err := os.Lstat(path)
			require.NoError(t, err)
			assert.True(t, os.SameFile(before, after) && before.Mode() == after.Mode(), name)
			for _, v := range []string{victim, path} {
				if info, err := os.Lstat(v); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
					assert.Equal(t, string(foreign), read(t, v), name)
				}
			}
			_, err = os.Lstat(victim + "x")
			assert.ErrorIs(t, err, fs.ErrNotExist, "nothing was made through the link")
		}
	}
}

// What is put in the place of the file after it was looked at, or is done to it while somebody waits for it, is refused as well.
func TestNamedChangedMeanwhile(t *testing.T) {
	foreign := []byte("123\n")
	for _, when := range []string{"openWrite", "tryLock"} {
		for name, change := range map[string]func(t *testing.T, victim, path string){
			"a second name": func(t *testing.T, victim, path string) { require.NoError(t, os.Link(path, path+"2")) },
			"another mode":  func(t *testing.T, victim, path string) { require.NoError(t, os.Chmod(path, 0o600)) },
			"other content": func(t *testing.T, victim, path string) { require.NoError(t, os.WriteFile(path, foreign, 0)) },
			"a link": func(t *testing.T, victim, path string) {
				require.NoError(t, os.Rename(path, path+"2"))
				require.NoError(t, os.Symlink(victim, path))
			},
			"another's file": func(t *testing.T, victim, path string) { require.NoError(t, os.Rename(victim, path)) },
			"a victim's second name": func(t *testing.T, victim, path string) {
				require.NoError(t, os.Remove(path))
				require.NoError(t, os.Link(victim, path))
			},
		} {
			place := newPlace(t)
			path, victim := namedPath(t, place, AllUsers, "name"), filepath.Join(place, "victim")
			writeMode(t, victim, foreign, 0o666)
			l := namedIn(place, AllUsers, "name")
			done := false
			m := failing(place, func(op string) error {
				if op == when && !done {
					done = true
					change(t, victim, path)
				}
				return nil
			})
			m.sys.(*namedFake).virtual = true
			l.machine = m
			_, err := l.TryAcquire(context.Background())
			assert.ErrorIs(t, err, ErrMisconfigured, "%s %s", when, name)
			for _, v := range []string{victim, path} {
				if info, err := os.Lstat(v); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
					assert.Equal(t, string(foreign), read(t, v), "%s %s", when, name)
				}
			}
		}
	}
}

func writeMode(t testing.TB, path string, content []byte, perm fs.FileMode) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, content, 0o600))
	require.NoError(t, os.Chmod(path, perm))
}

// A directory in which others could rename a lock's file is refused, and so is a user's own that is not.
func TestNamedDirectory(t *testing.T) {
	for name, c := range map[string]struct {
		change func(t *testing.T, place string) // of a place that is as it must be
		says   string
	}{
		"missing": {func(t *testing.T, p string) { require.NoError(t, os.Remove(p)) }, "no such file or directory"},
		"a link": {func(t *testing.T, p string) {
			require.NoError(t, os.Rename(p, p+"2"))
			require.NoError(t, os.Symlink(p+"2", p))
		}, "directory"},
		"a file":         {func(t *testing.T, p string) { require.NoError(t, os.Remove(p)); write(t, p, nil) }, "not a directory"},
		"without sticky": {func(t *testing.T, p string) { require.NoError(t, os.Chmod(p, 0o777)) }, "users may remove each other's files"},
		"group without":  {func(t *testing.T, p string) { require.NoError(t, os.Chmod(p, 0o775)) }, "users may remove each other's files"},
	} {
		place := filepath.Join(newPlace(t), "lock")
		require.NoError(t, os.Mkdir(place, 0))
		require.NoError(t, os.Chmod(place, 0o777|fs.ModeSticky))
		l := namedIn(place, AllUsers, "name")
		c.change(t, place)
		before := entries(t, place)
		_, err := l.TryAcquire(context.Background())
		assert.ErrorIs(t, err, ErrMisconfigured, name)
		assert.ErrorContains(t, err, c.says, name)
		assert.ErrorContains(t, err, place, name)
		assert.Equal(t, before, entries(t, place), name)
	}

	place := newPlace(t)
	l := namedIn(place, AllUsers, "name")
	l.machine = namedFiles{osSystem{}, place, uint32(os.Geteuid()) + 1}
	_, err := l.TryAcquire(context.Background())
	assert.ErrorIs(t, err, ErrMisconfigured)
	assert.ErrorContains(t, err, fmt.Sprintf("it belongs to user %d, not %d", os.Geteuid(), os.Geteuid()+1))
	require.NoError(t, os.Chmod(place, 0o755))
	mustNamed(t, namedIn(place, AllUsers, "name"))

	own := filepath.Join(place, fmt.Sprintf("holdfast-user-%d", os.Geteuid()))
	for name, plant := range map[string]func() error{
		"a link":     func() error { return os.Symlink(t.TempDir(), own) },
		"a file":     func() error { return os.WriteFile(own, nil, 0o700) },
		"a FIFO":     func() error { return unix.Mkfifo(own, 0o700) },
		"wide":       func() error { return errors.Join(os.Mkdir(own, 0), os.Chmod(own, 0o777)) },
		"unreadable": func() error { return os.Mkdir(own, 0) },
	} {
		require.NoError(t, plant())
		l, err := namedIn(place, CurrentUser, "name").TryAcquire(context.Background())
		if info, _ := os.Lstat(own); info.IsDir() {
			require.NoError(t, err, name)
			assert.Equal(t, fs.FileMode(0o700), info.Mode().Perm(), "it is the user's own: made right")
			require.NoError(t, l.Release())
			require.NoError(t, os.Remove(filepath.Join(own, namedFileName("name"))))
		} else {
			assert.ErrorIs(t, err, ErrMisconfigured, name)
			assert.ErrorContains(t, err, "it is a", name)
		}
		require.NoError(t, os.Remove(own))
	}
}

// Creating is tried again, a bounded number of times; what the system says is what the caller gets.
func TestNamedCreatingFails(t *testing.T) {
	for op, scope := range map[string]Scope{
		"createNew": AllUsers, "setMode": AllUsers, "openWrite": AllUsers, "lstat": AllUsers, "stat": AllUsers, "openDir": AllUsers,
		"setGroup": Group(someGroup), "makeDir": CurrentUser, "openShared": CurrentUser,
	} {
		for _, kind := range []sys.Kind{sys.NoSpace, sys.ReadOnly, sys.TooManyFiles, sys.IO, sys.AccessDenied, sys.NotPermitted} {
			for _, times := range []int{1, namedTries - 1, namedTries} {
				place := newPlace(t)
				l := namedIn(place, scope, "name")
				failed := 0
				m := failing(place, func(o string) error {
					switch {
					case o == "createUnnamed":
						return sys.Unsupported
					case o == op && failed < times:
						failed++
						return kind
					}
					return nil
				})
				m.sys.(*namedFake).virtual = true
				l.machine = m
				lease, err := l.TryAcquire(context.Background())
				if times < namedTries {
					require.NoError(t, err, "%s %v", op, kind)
					require.NoError(t, lease.Release())
					continue
				}
				assert.ErrorIs(t, err, ErrMisconfigured, op)
				assert.ErrorIs(t, err, ErrUnavailable, op)
				assert.ErrorIs(t, err, kind, op)
				assert.NotErrorIs(t, err, ErrHeld, op)
				for _, left := range entries(t, filepath.Join(place, "x")) {
					assert.NotContains(t, left, ".tmp", op)
				}
			}
		}
	}
}

// A record that cannot be written is no lock: nobody would know of us. One that cannot be taken out is an error of the release.
func TestNamedRecordCannotBeWritten(t *testing.T) {
	place := newPlace(t)
	for _, last := range [][]byte{nil, noOwner(), owner{pid: 4242, since: time.Now()}.content()} {
		path := namedPath(t, place, AllUsers, "name")
		writeMode(t, path, last, 0o666)
		refuse := true
		l := namedIn(place, AllUsers, "name")
		l.machine = failing(place, func(op string) error {
			if op == "write" && refuse {
				return sys.NoSpace
			}
			return nil
		})
		_, err := l.TryAcquire(context.Background())
		assert.ErrorIs(t, err, ErrMisconfigured)
		assert.ErrorIs(t, err, sys.NoSpace)
		assert.ErrorContains(t, err, "cannot write the owner record")
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, string(last), string(content))

		refuse = false
		l.machine.(namedFiles).sys.(*namedFake).on = func(op string) error {
			if op == "write" && !refuse {
				refuse = true
				return sys.IO
			}
			return nil
		}
		_, err = l.TryAcquire(context.Background())
		assert.ErrorIs(t, err, sys.IO)
		content, err = os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, string(last), string(content), "whom the next one is to be told of")

		refuse = false
		l.machine = failing(place, func(op string) error {
			if op == "write" && refuse {
				return sys.NoSpace
			}
			return nil
		})
		lease, err := l.TryAcquire(context.Background())
		require.NoError(t, err, "it is free")
		_, told := TakeoverOf(lease)
		assert.Equal(t, len(last) > 0 && last[0] == 'h', told)
		refuse = true
		err = lease.Release()
		assert.ErrorIs(t, err, sys.NoSpace)
		assert.ErrorContains(t, err, "its next holder will take us for dead")
		dead, told := TakeoverOf(mustNamedAndRelease(t, namedIn(place, AllUsers, "name")))
		assert.True(t, told, "as the error said")
		assert.Equal(t, os.Getpid(), dead.PID)
	}
}

func mustNamedAndRelease(t testing.TB, l Locker) Lease {
	t.Helper()
	lease := mustNamed(t, l)
	require.NoError(t, lease.Release())
	return lease
}

// The owner record is a hint to who holds the lock, and not even that if its number is of another pid namespace.
func TestNamedOwnerIsAHint(t *testing.T) {
	place := newPlace(t)
	path := namedPath(t, place, AllUsers, "name")
	c := startNamed(t, namedCommand(place, AllUsers, "name"))
	require.Contains(t, c.line(), "held")
	l := namedIn(place, AllUsers, "name")
	l.machine = failing(place, nil)
	held := namedHeld(t, l)
	assert.Equal(t, c.cmd.Process.Pid, held.Holder.PID)
	assert.Contains(t, held.Holder.Why, "hint")
	assert.WithinDuration(t, time.Now(), held.Holder.Since, time.Minute)
	assert.Contains(t, held.Error(), path+" is held, perhaps by PID ")

	me := (osSystem{}).self()
	for name, content := range map[string][]byte{
		"nobody's":        noOwner(),
		"another space's": owner{c.cmd.Process.Pid, me.PIDSpace + 1, time.Now()}.content(),
		"garbage":         []byte("held by process 1"),
		"a power cut's":   make([]byte, ownerSize),
	} {
		require.NoError(t, os.WriteFile(path, content, 0))
		held = namedHeld(t, l)
		assert.Zero(t, held.Holder.PID, name)
		assert.Contains(t, held.Error(), "is held, by whom is not known", name)
		assert.False(t, held.Stuck(), name)
	}
}

func TestNamedOwnerRecord(t *testing.T) {
	when := time.Date(2026, 11, 29, 17, 43, 27, 123456789, time.FixedZone("", 3600))
	full := owner{2147483647, 4294967295, when}.content()
	assert.Len(t, full, ownerSize)
	assert.True(t, strings.HasPrefix(string(full), "held by process 2147483647 of pid namespace 4294967295 since 2026-11-29T16:43:27.123456789Z "))
	o, err := parseOwner(full)
	require.NoError(t, err)
	assert.Equal(t, owner{2147483647, 4294967295, when.UTC()}, *o)
	for _, free := range [][]byte{nil, noOwner()} {
		o, err := parseOwner(free)
		assert.True(t, o == nil && err == nil)
	}
	o, err = parseOwner(make([]byte, ownerSize))
	require.NoError(t, err)
	assert.Equal(t, owner{}, *o)
	for _, bad := range [][]byte{
		full[:ownerSize-1], append(bytes.Clone(full), '\n'), []byte("4242\n"), make([]byte, 5), bytes.Repeat([]byte(" "), ownerSize),
		bytes.Replace(full, []byte("2147483647"), []byte("9999999999"), 1), bytes.Replace(full, []byte("held"), []byte("Held"), 1),
		bytes.Replace(full, []byte("process 2"), []byte("process -"), 1), bytes.Replace(full, []byte("Z"), []byte("X"), 1),
		bytes.Replace(full, []byte("2147483647"), []byte("0000000001"), 1), bytes.ToUpper(full), bytes.Repeat([]byte("x "), ownerSize/2),
	} {
		_, err := parseOwner(bad)
		assert.ErrorIs(t, err, errNotOurs, "%q", bad)
	}
}

func FuzzNamedOwner(f *testing.F) {
	f.Add(owner{4242, 1, time.Unix(1, 2)}.content())
	f.Add(noOwner())
	f.Fuzz(func(t *testing.T, content []byte) {
		o, err := parseOwner(content)
		if err == nil && o != nil && *o != (owner{}) && !bytes.Equal(o.content(), content) {
			t.Errorf("%q is read as %v", content, o)
		}
	})
}

// However a wait ends, nothing is watched afterwards, and no place in the queue outlives the open file: the inode's number may
// be another lock's then.
func TestNamedWaitLeavesNothing(t *testing.T) {
	for name, end := range map[string]func(cancel func(), holder Lease){
		"cancelled": func(cancel func(), _ Lease) { cancel() },
		"acquired":  func(_ func(), holder Lease) { holder.Release() },
		"timed out": func(func(), Lease) {},
	} {
		t.Run(name, func(t *testing.T) {
			place := newPlace(t)
			holder := mustNamed(t, namedIn(place, AllUsers, name))
			count := map[string]int{}
			table := newKernelTable()
			waited := false
			machine := failing(place, func(op string) error {
				if count[op]++; op == "close" && waited {
					assert.Empty(t, table.queues.queues)
				}
				return nil
			})
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			wait := time.Minute
			if name == "timed out" {
				wait = 100 * time.Millisecond
			}
			opts := newOptions([]Option{Wait(wait), OnWait(func(Holder) { waited = true; end(cancel, holder) })})
			l, err := namedLocker{machine, table, name, AllUsers, opts}.Acquire(ctx)
			assert.Equal(t, name == "acquired", err == nil, "%v", err)
			if err == nil {
				assert.NoError(t, l.Release())
			}
			assert.Equal(t, 1, count["watch"])
			if runtime.GOOS == "linux" {
				assert.Equal(t, 1, count["unwatch"])
			}
			assert.Empty(t, table.queues.queues)
		})
	}
}

// The file of a held lock is taken away: its holder is told, the next one is alone with the new file.
func TestNamedLost(t *testing.T) {
	place := newPlace(t)
	for _, name := range []string{"removed", "replaced"} {
		path := namedPath(t, place, AllUsers, name)
		l := mustNamed(t, namedIn(place, AllUsers, name))
		require.NoError(t, os.Remove(path))
		if name == "replaced" {
			second := mustNamed(t, namedIn(place, AllUsers, name))
			_, told := TakeoverOf(second)
			assert.False(t, told)
			defer func() { assert.NoError(t, second.Err()) }()
		}
		<-l.Done()
		assert.ErrorIs(t, l.Err(), ErrLost)
		assert.ErrorIs(t, l.Release(), ErrLost)
		assert.NoError(t, l.Release())
	}
}

// A loss between two of the regular looks is found by a look before the release: a holder that asks then learns of it in time.
func TestNamedCheck(t *testing.T) {
	place := newPlace(t)
	l := mustNamed(t, namedIn(place, AllUsers, "name")).(interface {
		Lease
		Check() error
	})
	require.NoError(t, l.Check())
	require.NoError(t, os.Remove(namedPath(t, place, AllUsers, "name")))
	assert.ErrorIs(t, l.Check(), ErrLost)
	assert.ErrorIs(t, l.Release(), ErrLost)
	assert.ErrorIs(t, l.Check(), ErrLost)
}

// A file that was another one when it was locked is not held by anybody, not even for one try; nor is one that always is.
func TestNamedReplaced(t *testing.T) {
	place := newPlace(t)
	path := namedPath(t, place, AllUsers, "name")
	once := namedIn(place, AllUsers, "name")
	removed := false
	once.machine = failing(place, func(op string) error {
		if op == "tryLock" && !removed {
			removed = true
			require.NoError(t, os.Remove(path))
		}
		return nil
	})
	mustNamedAndRelease(t, once)

	l := namedIn(place, AllUsers, "name", Wait(30*time.Millisecond))
	l.machine = failing(place, func(op string) error {
		if op == "tryLock" {
			require.NoError(t, os.Remove(path))
		}
		return nil
	})
	m := l.machine.(namedFiles).sys.(*namedFake)
	m.virtual = true
	told := 0
	l.opts.onWait = func(Holder) { told++ }
	_, err := l.Acquire(context.Background())
	assert.ErrorIs(t, err, ErrMisconfigured)
	assert.ErrorIs(t, err, errReplaced)
	assert.LessOrEqual(t, m.passed, 30*time.Millisecond)
	assert.NotZero(t, told)
	m.virtual, l.opts.wait = false, Forever
	ctx, cancel := context.WithCancel(context.Background())
	l.machine.(namedFiles).sys.(*namedFake).on = func(op string) error {
		if op == "tryLock" {
			require.NoError(t, os.Remove(path))
			cancel()
		}
		return nil
	}
	_, err = l.Acquire(ctx)
	assert.ErrorIs(t, err, context.Canceled)
}

func TestNamedWithoutKernelLocks(t *testing.T) {
	place := newPlace(t)
	l := namedIn(place, AllUsers, "name")
	l.machine = failing(place, func(op string) error {
		if op == "tryLock" {
			return sys.Unsupported
		}
		return nil
	})
	_, err := l.TryAcquire(context.Background())
	assert.ErrorIs(t, err, errors.ErrUnsupported)
	assert.ErrorIs(t, err, ErrMisconfigured)
	assert.NotErrorIs(t, err, ErrHeld)
}

func TestNamedLongWaitIsSaidOnce(t *testing.T) {
	place := newPlace(t)
	mustNamed(t, namedIn(place, AllUsers, "name"))
	var log lines
	l := namedIn(place, AllUsers, "name", Wait(10*time.Second), Logger(slog.New(&log)))
	m := failing(place, nil)
	m.sys.(*namedFake).virtual = true
	l.machine = m
	_, err := l.Acquire(context.Background())
	require.ErrorIs(t, err, ErrHeld)
	assert.Equal(t, []string{"DEBUG waiting for lock", "INFO still waiting for lock"}, log.said)
}
