package sys

import (
	"errors"
	"io"
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Watch has wake called, at most once and by another goroutine, when name does not mean the same inode any more: it was
// removed, renamed or replaced, and nobody has that inode open except through a file that never had this name. Changes of
// its content, its times and of other files wake nobody. Whoever watches looks once more afterwards: what happened before is
// not told. stop may be called at any time.
//
// All watches of the process share one descriptor, which stays, and one goroutine, which ends with the last of them.
func (d *Dir) Watch(name string, wake func()) (stop func(), err error) {
	return inodes.add("/proc/self/fd/"+strconv.Itoa(d.fd)+"/"+name, watchedEvents, &waker{wake: wake})
}

// WatchClose has wake called, by another goroutine and each time, when somebody closes the open file's inode, which may have
// ended a kernel lock, or when one of its names goes. The kernel tells of a close shortly before it drops the lock. What
// happened before is not told. stop may be called at any time; wake may still be called once while it runs.
func (f *File) WatchClose(wake func()) (stop func(), err error) {
	return inodes.add("/proc/self/fd/"+strconv.Itoa(f.fd), closeEvents, &waker{wake: wake, always: true})
}

var inodes watched

// watched are the inodes that this process waits for.
type watched struct {
	mu      sync.Mutex
	file    *os.File // the inotify instance: closing one takes the kernel 15 ms, so there is one for good
	fd      int
	wakers  map[int32]map[*waker]bool // by watch descriptor
	reading bool
	adding  int     // calls that look a path up: their inode may be one that is watched already
	idle    []int32 // watch descriptors that nobody needs, and that such a call may yet be given
}

type waker struct {
	wake   func()
	always bool // not only once
}

const (
	watchedEvents = unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_DONT_FOLLOW
	closeEvents   = unix.IN_CLOSE | unix.IN_ATTRIB | unix.IN_MOVE_SELF
)

// add does not hold the mutex while the kernel looks the path up: a file server that does not answer would keep everybody
// from waiting, and from releasing, whatever file they are about.
func (w *watched) add(path string, events uint32, mine *waker) (stop func(), err error) {
	if err := w.begin(); err != nil {
		return nil, err
	}
	wd, err := repeated(func() (int, error) { return unix.InotifyAddWatch(w.fd, path, events|unix.IN_MASK_ADD) })
	w.mu.Lock()
	defer w.mu.Unlock()
	defer w.added()
	if err != nil {
		return nil, err
	}
	if w.wakers[int32(wd)] == nil {
		w.wakers[int32(wd)] = map[*waker]bool{}
	}
	w.wakers[int32(wd)][mine] = true
	if !w.reading {
		w.reading = true
		w.file.SetReadDeadline(time.Time{})
		go w.read()
	}
	return func() { w.remove(int32(wd), mine) }, nil
}

func (w *watched) begin() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil {
		fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
		if err != nil {
			return err
		}
		w.fd, w.file, w.wakers = fd, os.NewFile(uintptr(fd), "inotify"), map[int32]map[*waker]bool{}
	}
	w.adding++
	return nil
}

// added ends what nobody needs once no call can be given it any more.
func (w *watched) added() {
	if w.adding--; w.adding > 0 {
		return
	}
	for _, wd := range w.idle {
		w.end(wd)
	}
	w.idle = nil
}

// end ends a watch that nobody needs.
func (w *watched) end(wd int32) {
	switch {
	case w.wakers[wd] != nil:
	case w.adding > 0:
		w.idle = append(w.idle, wd)
	default:
		_, _ = unix.InotifyRmWatch(w.fd, uint32(wd)) // the kernel has done so itself if the inode is gone
	}
}

func (w *watched) remove(wd int32, mine *waker) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.wakers[wd][mine] {
		return
	}
	delete(w.wakers[wd], mine)
	if len(w.wakers[wd]) == 0 {
		delete(w.wakers, wd)
		w.end(wd)
	}
	if len(w.wakers) == 0 {
		w.file.SetReadDeadline(time.Unix(1, 0))
	}
}

// read dispatches events until nothing is watched.
func (w *watched) read() {
	var buf [64 * unix.SizeofInotifyEvent]byte
	for {
		n, err := w.file.Read(buf[:])
		w.mu.Lock()
		for at := 0; at+unix.SizeofInotifyEvent <= n; {
			event := (*unix.InotifyEvent)(unsafe.Pointer(&buf[at]))
			at += unix.SizeofInotifyEvent + int(event.Len)
			w.dispatch(event)
		}
		if len(w.wakers) == 0 || err != nil && !errors.Is(err, os.ErrDeadlineExceeded) && err != io.EOF {
			w.reading = false
			w.mu.Unlock()
			return
		}
		if err != nil { // somebody began to watch after the last one had stopped
			w.file.SetReadDeadline(time.Time{})
		}
		w.mu.Unlock()
		runtime.Gosched() // whoever was woken goes on here and now, not once another thread is up
	}
}

// dispatch wakes those that the event concerns; an overflow concerns all.
func (w *watched) dispatch(event *unix.InotifyEvent) {
	for wd, wakers := range w.wakers {
		if wd != event.Wd && event.Mask&unix.IN_Q_OVERFLOW == 0 {
			continue
		}
		for waker := range wakers {
			waker.wake()
			if !waker.always || event.Mask&unix.IN_IGNORED != 0 {
				delete(wakers, waker)
			}
		}
		if len(wakers) > 0 {
			continue
		}
		delete(w.wakers, wd)
		w.end(wd)
	}
}

// WatchExit has wake called, at most once and by another goroutine, when the process has ended, reaped or not. stop may be
// called at any time.
func WatchExit(pid int, wake func()) (stop func(), err error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(fd, true); err != nil { // so that the runtime's poller waits for it, not a thread
		unix.Close(fd)
		return nil, err
	}
	file := os.NewFile(uintptr(fd), "pidfd")
	conn, err := file.SyscallConn()
	if err != nil {
		file.Close()
		return nil, err
	}
	go func() {
		if conn.Read(func(fd uintptr) bool { return readable(int(fd)) }) == nil {
			wake()
		}
		file.Close()
	}()
	return func() { file.Close() }, nil
}
