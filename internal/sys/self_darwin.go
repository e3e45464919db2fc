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
	text, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return me
	}
	boot, err := hex.DecodeString(strings.ReplaceAll(text, "-", ""))
	if err != nil || len(boot) != len(me.Boot) {
		return me
	}
	copy(me.Boot[:], boot)
	me.Start = Probe(me.PID).Start
	return me
})
