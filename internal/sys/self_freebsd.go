package sys

import (
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Me describes this process. It is read once: none of it can change. Releases without kern.boot_id leave the boot
// unknown.
var Me = sync.OnceValue(func() Self {
	me := Self{PID: os.Getpid(), SeesAll: seesAll()}
	if boot, err := unix.SysctlRaw("kern.boot_id"); err == nil && len(boot) == len(me.Boot) {
		copy(me.Boot[:], boot)
	}
	return me
})

// seesAll reports whether a process that we may not signal is one that we are not permitted to signal. A jailed process is told
// that those outside do not exist. So is anybody but root of other users' where the system or a module of it hides them.
func seesAll() bool {
	if jailed, err := unix.SysctlUint32("security.jail.jailed"); err != nil || jailed != 0 {
		return false
	}
	return unix.Geteuid() == 0 || is("security.bsd.see_other_uids", 1) && is("security.bsd.see_other_gids", 1) &&
		is("security.bsd.see_jail_proc", 1) && is("security.mac.seeotheruids.enabled", 0)
}

// is reports whether the system's variable has this value, or is none of this system's.
func is(name string, value uint32) bool {
	have, err := unix.SysctlUint32(name)
	return err == unix.ENOENT || err == nil && have == value
}
