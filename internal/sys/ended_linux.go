package sys

import (
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/unix"
)

// EndedChild waits until a child of this process has ended, whichever it is, and leaves it unreaped.
func EndedChild() (pid int, err error) {
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOWAIT, nil)
		switch err {
		case nil:
			return childOf(&info), nil
		case unix.EINTR:
		default:
			return 0, err
		}
	}
}

// childOf is si_pid: the first field behind signal, error and code, aligned as a pointer is.
func childOf(info *unix.Siginfo) int {
	const pointer = unsafe.Sizeof(uintptr(0))
	const at = (3*4 + pointer - 1) / pointer * pointer
	raw := (*[unsafe.Sizeof(*info)]byte)(unsafe.Pointer(info))
	return int(int32(binary.NativeEndian.Uint32(raw[at:])))
}

// HasChildren reports whether this process has children, also such as have ended and are not reaped.
func HasChildren() bool {
	return unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil) != unix.ECHILD
}

// Reap lets go of a child that has ended, if it has.
func Reap(pid int) { _, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil) }
