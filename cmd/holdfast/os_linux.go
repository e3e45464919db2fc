package main

import (
	"bytes"
	"os"
	"strconv"
)

// isParent reports whether pid is one of our parents, up to the first process. Only a /proc that shows our own numbers is
// believed.
func isParent(pid int) bool {
	self, err := os.Readlink("/proc/self")
	if err != nil || self != strconv.Itoa(os.Getpid()) {
		return pid == os.Getppid()
	}
	for at := os.Getppid(); at > 0; at = parentOf(at) {
		if at == pid {
			return true
		}
	}
	return false
}

// parentOf is field 4 of /proc/PID/stat; 0 if there is none.
func parentOf(pid int) int {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	// Field 2, the name in parentheses, may contain blanks and parentheses.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const afterName = 4 - 3
	if len(fields) <= afterName {
		return 0
	}
	parent, _ := strconv.Atoi(string(fields[afterName]))
	return parent
}
