package filelock

import (
	"context"
	"log/slog"
	"runtime"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"

	"github.com/holdfast-go/holdfast/internal/sys"
)

const (
	someGroup  = "S-1-1-0"      // Everyone
	otherGroup = "S-1-5-32-545" // Users
	realPlace  = ""
)

func newPlace(testing.TB) string    { return realPlace }
func machineAt(string) namedMachine { return osNamed() }
func forget(testing.TB, string)     {}

func namedObject(t testing.TB, scope Scope, name string) mutexPlace {
	t.Helper()
	p, err := namedMutexes{}.place(namedIn(realPlace, scope, name))
	require.NoError(t, err)
	return p
}

// Another object in the mutex's place, or a mutex that is not to be had or not the user's, is refused; nothing is locked
// instead.
func TestNamedPlantedObject(t *testing.T) {
	attributes := func(descriptor string) *windows.SecurityAttributes {
		sd, err := windows.SecurityDescriptorFromString(descriptor)
		require.NoError(t, err)
		a := &windows.SecurityAttributes{SecurityDescriptor: sd}
		a.Length = uint32(unsafe.Sizeof(*a))
		return a
	}
	for what, c := range map[string]struct {
		scope Scope
		plant func(name *uint16) (windows.Handle, error)
		says  string
	}{
		"an event": {AllUsers, func(name *uint16) (windows.Handle, error) {
			return windows.CreateEvent(nil, 1, 0, name)
		}, "cannot make or open the mutex"},
		"denied": {AllUsers, func(name *uint16) (windows.Handle, error) {
			return windows.CreateMutexEx(attributes("D:(D;;GA;;;WD)"), name, 0, windows.SYNCHRONIZE)
		}, "cannot make or open the mutex"},
		"another's": {CurrentUser, func(name *uint16) (windows.Handle, error) {
			return windows.CreateMutexEx(attributes("O:BAD:(A;;GA;;;WD)"), name, 0, windows.SYNCHRONIZE)
		}, "it belongs to S-1-5-32-544, not S-1-"},
	} {
		name := newName()
		p := namedObject(t, c.scope, name)
		name16, err := windows.UTF16PtrFromString(p.name)
		require.NoError(t, err)
		planted, err := c.plant(name16)
		require.NoError(t, err, what)
		_, err = namedIn(realPlace, c.scope, name).TryAcquire(context.Background())
		assert.ErrorIs(t, err, ErrMisconfigured, what)
		assert.ErrorIs(t, err, ErrUnavailable, what)
		assert.NotErrorIs(t, err, ErrHeld, what)
		assert.ErrorContains(t, err, c.says, what)
		windows.CloseHandle(planted)
		mustNamedAndRelease(t, namedIn(realPlace, c.scope, name))
	}
}

// Making the mutex is tried again, a bounded number of times.
func TestNamedPlantedObjectGoes(t *testing.T) {
	for goes := 2; goes <= mutexTries+1; goes++ {
		name := newName()
		name16, err := windows.UTF16PtrFromString(namedObject(t, AllUsers, name).name)
		require.NoError(t, err)
		planted, err := windows.CreateEvent(nil, 1, 0, name16)
		require.NoError(t, err)
		tries := 0
		l, err := namedIn(realPlace, AllUsers, name, Logger(slog.New(onMessage(func(m string) {
			if m == "creating mutex" {
				if tries++; tries == goes {
					windows.CloseHandle(planted)
				}
			}
		})))).TryAcquire(context.Background())
		if goes <= mutexTries {
			require.NoError(t, err)
			require.NoError(t, l.Release())
			continue
		}
		assert.ErrorIs(t, err, ErrMisconfigured)
		assert.Equal(t, mutexTries, tries)
		windows.CloseHandle(planted)
	}
}

// That a holder was abandoned is told to whoever is next, also when the context of the one who waits ends at that moment.
func TestNamedAbandonedWhileTheWaitEnds(t *testing.T) {
	for _, wait := range []time.Duration{Forever, 50 * time.Millisecond} {
		for range 4 {
			name := newName()
			c := startNamed(t, namedCommand(realPlace, AllUsers, name))
			require.Contains(t, c.line(), "told of nobody")
			other, err := sys.OpenMutex(namedObject(t, AllUsers, name).name, namedObject(t, AllUsers, name).descriptor)
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(context.Background())
			once := sync.OnceFunc(func() {
				c.kill()
				if wait == Forever {
					cancel()
				}
			})
			l, err := namedIn(realPlace, AllUsers, name, Wait(wait), OnWait(func(Holder) { once() })).Acquire(ctx)
			if err != nil { // the wait was over before the holder was
				require.NotErrorIs(t, err, ErrMisconfigured)
				once()
				l, err = namedIn(realPlace, AllUsers, name, Wait(time.Minute)).Acquire(context.Background())
				require.NoError(t, err)
			}
			_, told := TakeoverOf(l)
			assert.True(t, told)
			require.NoError(t, l.Release())
			require.NoError(t, other.Close())
			cancel()
		}
	}
}

// A waiter that panics leaves nothing that waits on, and would have the mutex for ever.
func TestNamedWaiterPanics(t *testing.T) {
	name := newName()
	holder := mustNamed(t, namedIn(realPlace, AllUsers, name))
	assert.Panics(t, func() {
		_, _ = namedIn(realPlace, AllUsers, name, Wait(Forever), OnWait(func(Holder) { panic("on purpose") })).Acquire(context.Background())
	})
	require.NoError(t, holder.Release())
	mustNamedAndRelease(t, namedIn(realPlace, AllUsers, name))
}

type onMessage func(string)

func (onMessage) Enabled(context.Context, slog.Level) bool { return true }
func (m onMessage) WithAttrs([]slog.Attr) slog.Handler     { return m }
func (m onMessage) WithGroup(string) slog.Handler          { return m }

func (m onMessage) Handle(_ context.Context, r slog.Record) error {
	m(r.Message)
	return nil
}

func mustNamedAndRelease(t testing.TB, l Locker) {
	t.Helper()
	require.NoError(t, mustNamed(t, l).Release())
}

// The mutex is the one of all sessions, and the scope may lock it and not change who may.
func TestNamedObject(t *testing.T) {
	user, err := sys.UserSID()
	require.NoError(t, err)
	for scope, sid := range map[Scope]string{AllUsers: "WD", CurrentUser: user, Group("S-1-5-32-545"): "BU"} {
		name := newName()
		mustNamed(t, namedIn(realPlace, scope, name))
		p := namedObject(t, scope, name)
		assert.Regexp(t, `^Global\\holdfast-(all|user-S-[0-9-]+|group-S-[0-9-]+)-test_[A-Z0-9]+-[0-9a-f]{64}$`, p.name)
		assert.Less(t, len(p.name), windows.MAX_PATH)

		open := func(name string) (windows.Handle, error) {
			name16, err := windows.UTF16PtrFromString(name)
			require.NoError(t, err)
			return windows.OpenMutex(windows.READ_CONTROL, false, name16)
		}
		h, err := open(p.name)
		require.NoError(t, err)
		sd, err := windows.GetSecurityInfo(h, windows.SE_KERNEL_OBJECT, windows.OWNER_SECURITY_INFORMATION|windows.DACL_SECURITY_INFORMATION)
		require.NoError(t, err)
		windows.CloseHandle(h)
		assert.Contains(t, sd.String(), ";;;SY)")
		assert.Regexp(t, `\(A;;(0x120001|RCSYCC|CCRCSY|0x00120001);;;`+sid+`\)`, sd.String())
		if scope == CurrentUser {
			owner, _, err := sd.Owner()
			require.NoError(t, err)
			assert.Equal(t, user, owner.String())
		}
		_, err = open(`Local\` + p.name[len(`Global\`):])
		assert.ErrorIs(t, err, windows.ERROR_FILE_NOT_FOUND)
	}
}

// Holding and releasing are one thread's, however many goroutines there are to share the threads.
func TestNamedStaysWithItsThread(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for range 20 {
				l, err := namedIn(realPlace, AllUsers, newName()).TryAcquire(context.Background())
				if assert.NoError(t, err) {
					runtime.Gosched()
					assert.NoError(t, l.Release())
				}
			}
		})
	}
	all.Wait()
}
