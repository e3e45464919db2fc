package sys

import (
	"sync"

	"golang.org/x/sys/windows"
)

// Watch has wake called, at most once and by another goroutine, when name does not mean the same inode any more: it was
// removed, renamed or replaced. Changes of its content and its times wake nobody; of other files' changes, making, removing
// and renaming makes it look. Whoever watches looks once more afterwards: what happened before is not told. stop may be
// called at any time.
func (d *Dir) Watch(name string, wake func()) (stop func(), err error) {
	before, err := d.Lstat(name)
	if err != nil {
		return nil, err
	}
	change, err := windows.FindFirstChangeNotification(d.path, false, windows.FILE_NOTIFY_CHANGE_FILE_NAME)
	if err != nil {
		return nil, err
	}
	changed := func() bool {
		now, err := d.Lstat(name)
		return err != nil || now.ID != before.ID || windows.FindNextChangeNotification(change) != nil
	}
	stop, err = watchHandle(change, changed, wake, func() { windows.FindCloseChangeNotification(change) })
	if err != nil {
		windows.FindCloseChangeNotification(change)
	}
	return stop, err
}

// WatchExit has wake called, at most once and by another goroutine, when the process has ended. stop may be called at any
// time.
func WatchExit(pid int, wake func()) (stop func(), err error) {
	h, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(pid))
	if err == windows.ERROR_INVALID_PARAMETER {
		return nil, NoProcess
	}
	if err != nil {
		return nil, err
	}
	stop, err = watchHandle(h, func() bool { return true }, wake, func() { windows.CloseHandle(h) })
	if err != nil {
		windows.CloseHandle(h)
	}
	return stop, err
}

// watchHandle waits on a thread of its own until h is signalled and that is for good.
func watchHandle(h windows.Handle, forGood func() bool, wake, ended func()) (stop func(), err error) {
	end, err := windows.CreateEvent(nil, 1, 0, nil)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	over := false
	go func() {
		for {
			n, err := windows.WaitForMultipleObjects([]windows.Handle{h, end}, false, windows.INFINITE)
			if err != nil || n != windows.WAIT_OBJECT_0 {
				break
			}
			if forGood() {
				wake()
				break
			}
		}
		mu.Lock()
		defer mu.Unlock()
		over = true
		windows.CloseHandle(end)
		ended()
	}()
	return func() {
		mu.Lock()
		defer mu.Unlock()
		if !over {
			windows.SetEvent(end)
		}
	}, nil
}
