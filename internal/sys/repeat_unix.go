//go:build unix

package sys

import "golang.org/x/sys/unix"

// repeat makes a system call until no signal interrupts it. FUSE and network file systems let that happen to calls that wait
// for nothing, and the runtime's own signals come often.
//
// A call that was interrupted after its effect meets that effect when it is repeated, as with package os: a name that was made
// exists, one that was removed or renamed is gone. Whoever has to know looks at what the name means.
func repeat(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}

// repeated is repeat for a call with a result.
func repeated[T any](call func() (T, error)) (T, error) {
	for {
		if result, err := call(); err != unix.EINTR {
			return result, err
		}
	}
}
