package sys

import (
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Me describes this process. It is read once: none of it can change. Releases without kern.boot_id leave the boot
// unknown. A jailed process does not see those outside.
var Me = sync.OnceValue(func() Self {
	jailed, err := unix.SysctlUint32("security.jail.jailed")
	me := Self{PID: os.Getpid(), SeesAll: err == nil && jailed == 0}
	if boot, err := unix.SysctlRaw("kern.boot_id"); err == nil && len(boot) == len(me.Boot) {
		copy(me.Boot[:], boot)
	}
	return me
})
