package filelock

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/holdfast-go/holdfast/internal/testenv"
)

func init() { children["race"] = childRace }

const nobody = 65534

// nobodys is a command of a user without privileges, in an environment of its own and under a umask that hides all.
func nobodys(t *testing.T, what string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := as(t, what, args...)
	cmd.Env = append(cmd.Env, "TMPDIR=/nowhere", "HOME=/nowhere", "XDG_RUNTIME_DIR=/nowhere", "USER=somebody", quick)
	cmd.Args = append([]string{"sh", "-c", `umask 077; exec "$0" "$@"`, cmd.Path}, cmd.Args[1:]...)
	cmd.Path = "/bin/sh"
	return cmd
}

// One scope is one lock for whoever is in it, whoever came first; who is not in it is refused, and split off nothing.
func TestNamedTwoUsers(t *testing.T) {
	testenv.Root(t)
	for _, c := range []struct {
		scope Scope
		same  string // what the second one sees of a lock that the first one holds
		after string // once it is released
	}{
		{AllUsers, "held | ", "told of nobody"},
		{Group(strconv.Itoa(nobody)), "held | ", "told of nobody"},
		{CurrentUser, "told of nobody", "told of nobody"},
		{Group("0"), "misconfigured | ", "misconfigured | "}, // nobody is not in it
	} {
		for _, rootFirst := range []bool{true, false} {
			if c.scope == Group("0") && !rootFirst {
				continue
			}
			place := newPlace(t)
			root := func() *exec.Cmd { return namedCommand(place, c.scope, "name") }
			user := func() *exec.Cmd { return nobodys(t, "named", place, string(c.scope), "name", "0s") }
			first, second := root, user
			if !rootFirst {
				first, second = user, root
			}
			holder := startNamed(t, first())
			require.Contains(t, holder.line(), "held ", c.scope)
			out, err := second().Output()
			require.NoError(t, err)
			assert.Contains(t, string(out), c.same, "%s %v", c.scope, rootFirst)
			holder.say("release")
			require.Equal(t, "released <nil>", holder.line())
			out, err = second().Output()
			require.NoError(t, err)
			assert.Contains(t, string(out), c.after, "%s %v", c.scope, rootFirst)
			holder.end()

			out, err = first().Output() // its input is empty: it ends at once, with a release
			require.NoError(t, err)
			assert.Contains(t, string(out), "told of nobody")
		}
	}

	place := newPlace(t)
	out, err := nobodys(t, "named", place, string(Group("0")), "name", "0s").Output()
	require.NoError(t, err)
	assert.Contains(t, string(out), "cannot make the lock file: operation not permitted: root or a member of group 0 has to make this first", "one cannot make a file of a group's that one is not in")
	assert.Empty(t, entries(t, filepath.Join(place, "x")))

	require.NoError(t, os.Chmod(place, 0o755))
	for _, scope := range []Scope{AllUsers, CurrentUser} {
		out, err = nobodys(t, "named", place, string(scope), "name", "0s").Output()
		require.NoError(t, err)
		assert.Contains(t, string(out), "misconfigured | ")
		assert.Contains(t, string(out), "permission denied: the directory is not open to all users, so root has to make this first")
	}
	mustNamedAndRelease(t, namedIn(place, AllUsers, "name"))
	out, err = nobodys(t, "named", place, string(AllUsers), "name", "0s").Output()
	require.NoError(t, err)
	assert.Contains(t, string(out), "told of nobody", "what root has made once is everybody's")
	own := filepath.Join(place, fmt.Sprintf("holdfast-user-%d", nobody))
	require.NoError(t, os.Mkdir(own, 0o700))
	require.NoError(t, os.Chown(own, nobody, nobody))
	out, err = nobodys(t, "named", place, string(CurrentUser), "name", "0s").Output()
	require.NoError(t, err)
	assert.Contains(t, string(out), "told of nobody", "and what root has made for a user is that one's")
}

// A lock that another user's process died with is one that anybody in the scope takes over.
func TestNamedTwoUsersTakeover(t *testing.T) {
	testenv.Root(t)
	place := newPlace(t)
	dying := startNamed(t, nobodys(t, "named", place, string(AllUsers), "name", "0s"))
	require.Contains(t, dying.line(), "held ")
	held := namedHeld(t, namedIn(place, AllUsers, "name"))
	assert.Equal(t, dying.cmd.Process.Pid, held.Holder.PID)
	dying.kill()
	dead, told := TakeoverOf(mustNamed(t, namedIn(place, AllUsers, "name")))
	assert.True(t, told)
	assert.Equal(t, dying.cmd.Process.Pid, dead.PID)
}

// Another user's files and directories in the place of a user's own are refused, as are other groups' in a group's.
func TestNamedPlantedByAnother(t *testing.T) {
	testenv.Root(t)
	for scope, says := range map[Scope]string{CurrentUser: "it belongs to user 65534, not 0", Group("0"): "it belongs to group 65534, not 0"} {
		place := newPlace(t)
		path := namedPath(t, place, scope, "name")
		perm := fs.FileMode(0o660)
		if scope == CurrentUser {
			perm = 0o600
			require.NoError(t, os.Mkdir(filepath.Dir(path), 0o700))
		}
		writeMode(t, path, nil, perm)
		require.NoError(t, os.Chown(path, nobody, nobody))
		_, err := namedIn(place, scope, "name").TryAcquire(context.Background())
		assert.ErrorIs(t, err, ErrMisconfigured, scope)
		assert.ErrorContains(t, err, says)
		if scope == CurrentUser {
			require.NoError(t, os.Remove(path))
			require.NoError(t, os.Chown(filepath.Dir(path), nobody, nobody))
			_, err := namedIn(place, scope, "name").TryAcquire(context.Background())
			assert.ErrorIs(t, err, ErrMisconfigured)
			assert.ErrorContains(t, err, says)
			assert.Empty(t, entries(t, path))
		}
	}
	// everybody may have made the file of everybody's lock
	place := newPlace(t)
	path := namedPath(t, place, AllUsers, "name")
	writeMode(t, path, nil, 0o666)
	require.NoError(t, os.Chown(path, nobody, nobody))
	mustNamed(t, namedIn(place, AllUsers, "name"))
	out, err := nobodys(t, "named", place, string(AllUsers), "name", "0s").Output()
	require.NoError(t, err)
	assert.Contains(t, string(out), "held | ")
}

const raceRounds = 30

// childRace PLACE SCOPE: once it is told to go, takes one lock after the other, each of which nobody has taken before, and
// looks whether somebody else has it too.
func childRace(args []string) error {
	fmt.Println("ready")
	fmt.Scanln()
	for i := range raceRounds {
		name := strconv.Itoa(i)
		l, err := namedIn(args[0], Scope(args[1]), name, Wait(Forever)).Acquire(context.Background())
		if err != nil {
			return err
		}
		if t, told := TakeoverOf(l); told {
			return fmt.Errorf("told of %v, and nobody died", t)
		}
		mark, err := os.OpenFile(filepath.Join(args[2], name), os.O_CREATE|os.O_EXCL, 0o666)
		if err != nil {
			return fmt.Errorf("two have it: %w", err)
		}
		mark.Close()
		if err := os.Remove(mark.Name()); err != nil {
			return err
		}
		if err := l.Release(); err != nil {
			return err
		}
	}
	fmt.Println("done")
	return nil
}

// Many processes, of two users, take locks for the first time at once.
func TestNamedFirstUseAtOnce(t *testing.T) {
	testenv.Root(t)
	const each = 4
	for _, scope := range []Scope{AllUsers, Group(strconv.Itoa(nobody)), CurrentUser} {
		place, marks := newPlace(t), newPlace(t)
		var all []*child
		for range each {
			cmd := command("race", place, string(scope), marks)
			all = append(all, start(t, cmd))
			if scope != CurrentUser {
				all = append(all, start(t, nobodys(t, "race", place, string(scope), marks)))
			}
		}
		for _, c := range all {
			require.Equal(t, "ready", c.line())
		}
		for _, c := range all {
			c.say("go")
		}
		for _, c := range all {
			assert.Equal(t, "done", c.line(), scope)
			c.end()
		}
		if scope != CurrentUser {
			assert.Len(t, entries(t, filepath.Join(place, "x")), raceRounds, "one file for each, and no temporary ones")
		}
	}
}

// On a disk a released lock's file keeps its blocks: a file that is cut is flushed when it is closed.
func TestNamedFileOnADisk(t *testing.T) {
	place := newPlace(t)
	mustNamedAndRelease(t, namedIn(place, AllUsers, "name"))
	var st unix.Statfs_t
	require.NoError(t, unix.Statfs(place, &st))
	content, err := os.ReadFile(namedPath(t, place, AllUsers, "name"))
	require.NoError(t, err)
	if st.Type == unix.TMPFS_MAGIC {
		assert.Empty(t, content)
	} else {
		assert.Equal(t, string(noOwner()), string(content))
	}
}

// The system's reason is the caller's: read-only and full file systems.
func TestNamedFileSystems(t *testing.T) {
	testenv.Root(t)
	place := newPlace(t)
	require.NoError(t, unix.Mount("tmpfs", place, "tmpfs", 0, "size=8k,mode=1777"))
	t.Cleanup(func() { unix.Unmount(place, unix.MNT_DETACH) })
	for n := range 100 { // each of which would keep a page, and there are two
		mustNamedAndRelease(t, namedIn(place, AllUsers, fmt.Sprint("once ", n)))
	}
	mustNamedAndRelease(t, namedIn(place, AllUsers, "old"))
	full, err := os.Create(filepath.Join(place, "filler"))
	require.NoError(t, err)
	for err == nil {
		_, err = full.Write(make([]byte, 4096))
	}
	require.ErrorIs(t, err, unix.ENOSPC)
	full.Close() // otherwise it cannot be made read-only
	for _, name := range []string{"old", "new"} {
		_, err = namedIn(place, AllUsers, name).TryAcquire(context.Background())
		assert.ErrorIs(t, err, ErrMisconfigured)
		assert.ErrorIs(t, err, unix.ENOSPC)
	}

	require.NoError(t, unix.Mount("", place, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	for _, name := range []string{"old", "newer"} {
		_, err = namedIn(place, AllUsers, name).TryAcquire(context.Background())
		assert.ErrorIs(t, err, ErrMisconfigured)
		assert.ErrorIs(t, err, unix.EROFS)
		assert.NotErrorIs(t, err, ErrHeld)
	}
}
