package sys

import (
	"time"

	"golang.org/x/sys/windows"
)

// Probe asks the system about a process number: "invalid parameter" is absent, a signalled process object has exited.
func Probe(pid int) Process {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION|windows.SYNCHRONIZE, false, uint32(pid))
	switch err {
	case nil:
	case windows.ERROR_INVALID_PARAMETER:
		return Process{Presence: Absent}
	case windows.ERROR_ACCESS_DENIED:
		return Process{Presence: Forbidden}
	default:
		return Process{}
	}
	defer windows.CloseHandle(h)
	// OpenProcess rounds numbers down to a multiple of four: what was opened may be another process.
	if id, err := windows.GetProcessId(h); err != nil || int(id) != pid {
		return Process{}
	}
	p := Process{Presence: Present, Start: uint64(creation(h))}
	if ended, err := windows.WaitForSingleObject(h, 0); err == nil && ended == windows.WAIT_OBJECT_0 {
		p.Presence = Exited
	}
	return p
}

func creation(h windows.Handle) int64 {
	var created, exited, kernel, user windows.Filetime
	if windows.GetProcessTimes(h, &created, &exited, &kernel, &user) != nil {
		return 0
	}
	return created.Nanoseconds()
}

// Describe tells what is known of a live process; for people only.
func Describe(pid int) Description {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return Description{}
	}
	defer windows.CloseHandle(h)
	var d Description
	name := make([]uint16, windows.MAX_LONG_PATH)
	size := uint32(len(name))
	if windows.QueryFullProcessImageName(h, 0, &name[0], &size) == nil {
		d.Command = windows.UTF16ToString(name[:size])
	}
	if at := creation(h); at != 0 {
		d.Started = time.Unix(0, at)
	}
	return d
}

// ProbeGroup knows nothing here: there are no process groups.
func ProbeGroup(int) Presence { return Unknown }
