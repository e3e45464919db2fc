package testenv

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// RefuseWaitid has the system refuse every waitid but one for a pidfd, as if there were no descriptors left: for the calling
// goroutine, and the program that it executes.
func RefuseWaitid() error {
	const number, first = 0, 16 // of the system call, and its first argument, in what a filter sees; little-endian machines
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	jump := func(value uint32, equal, other uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: value, Jt: equal, Jf: other}
	}
	answer := func(value uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: value} }
	allow, refuse := answer(unix.SECCOMP_RET_ALLOW), answer(unix.SECCOMP_RET_ERRNO|uint32(unix.EMFILE))
	filter := []unix.SockFilter{
		load(number), jump(unix.SYS_WAITID, 0, 2),
		load(first), jump(unix.P_PIDFD, 0, 1),
		allow, refuse,
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	var pinned runtime.Pinner // the address is passed as a number: on a stack, which moves, it would soon be wrong
	pinned.Pin(&program)
	defer pinned.Unpin()
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
}
