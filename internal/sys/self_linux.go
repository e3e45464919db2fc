package sys

import (
	"encoding/hex"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Me describes this process. It is read once: none of it can change.
var Me = sync.OnceValue(func() Self {
	me := Self{PID: os.Getpid(), SeesAll: true}
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return me
	}
	boot, err := hex.DecodeString(strings.ReplaceAll(strings.TrimSpace(string(text)), "-", ""))
	if err != nil || len(boot) != len(me.Boot) {
		return me
	}
	pidSpace, err := namespace("pid")
	if err != nil {
		return me
	}
	me.PIDSpace = pidSpace
	me.TimeSpace, _ = namespace("time")
	if procIsOurs() {
		me.Start = startTime(me.PID)
	}
	copy(me.Boot[:], boot)
	return me
})

func namespace(kind string) (uint32, error) {
	var st unix.Stat_t
	err := unix.Stat("/proc/self/ns/"+kind, &st)
	return uint32(st.Ino), err
}
