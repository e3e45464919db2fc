package sys

import (
	"errors"
	"runtime"
	"sync"
	"unsafe"

	"golang.org/x/sys/windows"
)

// mutexAccess is what one needs to wait for a mutex, to release it and to see whose it is.
const mutexAccess = windows.SYNCHRONIZE | windows.MUTANT_QUERY_STATE | windows.READ_CONTROL

// Mutex is an open mutex. A mutex belongs to a thread: waiting, holding and releasing are one thread's, which this type keeps
// to itself, so that its methods may be called from anywhere.
type Mutex struct {
	h windows.Handle
}

// OpenMutex opens the mutex with this name. If there is none it is made, with the owner and the access that the descriptor
// says; that access is asked for even by who makes it. Another object of this name is an error.
func OpenMutex(name, descriptor string) (*Mutex, error) {
	name16, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return nil, err
	}
	sd, err := windows.SecurityDescriptorFromString(descriptor)
	if err != nil {
		return nil, err
	}
	attributes := windows.SecurityAttributes{SecurityDescriptor: sd}
	attributes.Length = uint32(unsafe.Sizeof(attributes))
	made, err := windows.CreateMutexEx(&attributes, name16, 0, mutexAccess)
	if made == 0 {
		return nil, err
	}
	defer windows.CloseHandle(made)
	h, err := windows.OpenMutex(mutexAccess, false, name16)
	if err != nil {
		return nil, err
	}
	return &Mutex{h}, nil
}

// Owner is the security identifier of the mutex's owner.
func (m *Mutex) Owner() (string, error) {
	sd, err := windows.GetSecurityInfo(m.h, windows.SE_KERNEL_OBJECT, windows.OWNER_SECURITY_INFORMATION)
	if err != nil {
		return "", err
	}
	owner, _, err := sd.Owner()
	if err != nil {
		return "", err
	}
	return owner.String(), nil
}

// Close closes the mutex; ownerships must have ended.
func (m *Mutex) Close() error { return windows.CloseHandle(m.h) }

// Ownership is one thread's wait for a mutex, and its holding.
type Ownership struct {
	// Settled is closed when the wait is over. The fields below are set by then.
	Settled   chan struct{}
	Owned     bool  // the mutex is ours until End
	Abandoned bool  // its last owner ended without releasing it; who waits is told once, so that this must not get lost
	Err       error // the wait failed

	stop     windows.Handle // ends the wait
	end      chan struct{}  // ends the holding
	done     chan struct{}
	once     sync.Once
	released error
}

// Own has a thread of its own wait for the mutex and hold it until End. It returns once that has tried: Settled is open if
// another has the mutex.
func (m *Mutex) Own() (*Ownership, error) {
	stop, err := windows.CreateEvent(nil, 1, 0, nil)
	if err != nil {
		return nil, err
	}
	o := &Ownership{Settled: make(chan struct{}), stop: stop, end: make(chan struct{}), done: make(chan struct{})}
	tried := make(chan struct{})
	go func() {
		defer close(o.done)
		runtime.LockOSThread()
		if o.hold(m.h, tried) {
			runtime.UnlockOSThread() // otherwise the thread ends here, and what it owns is abandoned
		}
	}()
	<-tried
	return o, nil
}

// hold returns false if the mutex could not be released.
func (o *Ownership) hold(mutex windows.Handle, tried chan<- struct{}) bool {
	n, err := windows.WaitForSingleObject(mutex, 0)
	if err != nil || n != uint32(windows.WAIT_TIMEOUT) {
		o.settle(n, err)
		close(tried)
	} else {
		close(tried)
		n, err = windows.WaitForMultipleObjects([]windows.Handle{mutex, o.stop}, false, windows.INFINITE)
		o.settle(n, err)
	}
	if !o.Owned {
		return true
	}
	<-o.end
	o.released = windows.ReleaseMutex(mutex)
	return o.released == nil
}

func (o *Ownership) settle(n uint32, err error) {
	o.Abandoned, o.Err = n == windows.WAIT_ABANDONED, err
	o.Owned = err == nil && (n == windows.WAIT_OBJECT_0 || o.Abandoned)
	close(o.Settled)
}

// Stop ends the wait. It reports whether the mutex was ours before that; then it is until End.
func (o *Ownership) Stop() (owned bool) {
	_ = windows.SetEvent(o.stop)
	<-o.Settled
	return o.Owned
}

// End ends the wait, or releases the mutex, and returns once that is done. The error is the system's, if there was no
// releasing it: then it is abandoned.
func (o *Ownership) End() error {
	o.once.Do(func() {
		o.Stop()
		close(o.end)
		<-o.done
		windows.CloseHandle(o.stop)
	})
	return o.released
}

// UserSID is the security identifier of the user that this process runs as.
func UserSID() (string, error) {
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return "", err
	}
	return user.User.Sid.String(), nil
}

var errNoGroup = errors.New("there is somebody of this name who is no group")

// GroupSID is the security identifier of a group by its name, or by the identifier itself.
func GroupSID(group string) (string, error) {
	sid, err := windows.StringToSid(group)
	if err == nil {
		return sid.String(), nil
	}
	sid, _, kind, err := windows.LookupSID("", group)
	if err != nil {
		return "", err
	}
	switch kind {
	case windows.SidTypeGroup, windows.SidTypeAlias, windows.SidTypeWellKnownGroup:
		return sid.String(), nil
	}
	return "", errNoGroup
}
