package sys

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// LockedBy returns the processes that took a kernel lock with flock on the inode, as far as the kernel shows them to us. A
// process that is named may have ended since, if another one has inherited its open file.
func LockedBy(id FileID) (pids []int) {
	if !procIsOurs() {
		return nil
	}
	table, err := os.ReadFile("/proc/locks")
	if err != nil {
		return nil
	}
	inode := fmt.Sprintf("%02x:%02x:%d", unix.Major(id.Dev), unix.Minor(id.Dev), id.Ino)
	for line := range strings.Lines(string(table)) {
		if pid := flockOwner(line, inode); pid > 0 && !slices.Contains(pids, pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// flockOwner reads one line of /proc/locks: "1: FLOCK  ADVISORY  WRITE 13458 fe:00:10018840 0 EOF". Those that wait have an
// arrow in the second place.
func flockOwner(line, inode string) (pid int) {
	var at, kind, how, access, where string
	n, err := fmt.Sscan(line, &at, &kind, &how, &access, &pid, &where)
	if err != nil || n != 6 || kind != "FLOCK" || where != inode {
		return 0
	}
	return pid
}
