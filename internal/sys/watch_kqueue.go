//go:build darwin || freebsd || netbsd || openbsd

package sys

import (
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Watch has wake called, at most once and by another goroutine, when name does not mean the same inode any more: it was
// removed, renamed or replaced. Changes of its content, its times and of other files wake nobody. Whoever watches looks once
// more afterwards: what happened before is not told. stop may be called at any time.
func (d *Dir) Watch(name string, wake func()) (stop func(), err error) {
	f, err := d.Open(name)
	if err != nil {
		return nil, err
	}
	var change unix.Kevent_t
	unix.SetKevent(&change, f.fd, unix.EVFILT_VNODE, unix.EV_ADD|unix.EV_ONESHOT)
	change.Fflags = unix.NOTE_DELETE | unix.NOTE_RENAME
	stop, err = watchEvent(change, wake, func() { f.Close() })
	if err != nil {
		f.Close()
	}
	return stop, err
}

// WatchExit has wake called, at most once and by another goroutine, when the process has ended, reaped or not. stop may be
// called at any time.
func WatchExit(pid int, wake func()) (stop func(), err error) {
	var change unix.Kevent_t
	unix.SetKevent(&change, pid, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT)
	change.Fflags = unix.NOTE_EXIT
	return watchEvent(change, wake, func() {})
}

// watchEvent waits for one event in a queue and a thread of its own. A pipe that is closed is what ends the waiting: not all
// of these systems have events of one's own.
func watchEvent(change unix.Kevent_t, wake, ended func()) (stop func(), err error) {
	queue, err := unix.Kqueue()
	if err != nil {
		return nil, err
	}
	unix.CloseOnExec(queue) // a forked child has none of it
	pipe, err := closedOnExec()
	if err != nil {
		unix.Close(queue)
		return nil, err
	}
	var end unix.Kevent_t
	unix.SetKevent(&end, pipe[0], unix.EVFILT_READ, unix.EV_ADD)
	if _, err := unix.Kevent(queue, []unix.Kevent_t{end, change}, nil, nil); err != nil {
		unix.Close(queue)
		unix.Close(pipe[0])
		unix.Close(pipe[1])
		return nil, err
	}
	go func() {
		defer ended()
		defer unix.Close(pipe[0])
		defer unix.Close(queue)
		events := make([]unix.Kevent_t, 1)
		for {
			n, err := unix.Kevent(queue, nil, events, nil)
			if err == unix.EINTR {
				continue
			}
			if err == nil && n == 1 && events[0].Filter == change.Filter {
				wake()
			}
			return
		}
	}()
	return sync.OnceFunc(func() { unix.Close(pipe[1]) }), nil
}

// closedOnExec makes a pipe that no child keeps: closing the end that a child has too would tell the other one nothing.
func closedOnExec() (pipe [2]int, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := unix.Pipe(pipe[:]); err != nil {
		return pipe, err
	}
	unix.CloseOnExec(pipe[0])
	unix.CloseOnExec(pipe[1])
	return pipe, nil
}
