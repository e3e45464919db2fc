// Package sys is the one place where holdfast meets the operating system: files reached through an open directory,
// kernel locks on them, and evidence about processes.
//
// It decides nothing. Every call is one system call or the closest thing to it that the system has; an error is the
// system's own, unwrapped, and [KindOf] says portably what it means. What is missing on a system answers with a kind of
// [Unsupported], so that a caller can go on to the next way of doing the same.
package sys

import (
	"io/fs"
	"time"
)

// FileID names one inode on this machine. It is unique only while somebody keeps that inode open: numbers are reused.
type FileID struct {
	Dev, Ino uint64
}

// Info is what lstat or fstat tells.
type Info struct {
	ID      FileID
	Mode    fs.FileMode // type and permission bits, as in package os
	Size    int64
	ModTime time.Time
	Links   uint64 // 0 where the system does not tell
	UID     uint32 // 0 on Windows
	GID     uint32 // 0 on Windows
}

// Regular reports whether i describes a regular file.
func (i Info) Regular() bool { return i.Mode.IsRegular() }

// Self is what this process writes down of itself, so that others can judge it when it is dead.
type Self struct {
	PID       int
	Start     uint64   // start time in the kernel's own unit; 0 is unknown
	Boot      [16]byte // all zero is unknown
	PIDSpace  uint32   // pid namespace; 0 where the system has none
	TimeSpace uint32   // time namespace; 0 where the system has none
	SeesAll   bool     // false where processes of our pid space may be hidden from us: "no such process" proves nothing
}

// BootKnown reports whether s can say in which boot it runs.
func (s Self) BootKnown() bool { return s.Boot != [16]byte{} }

// Presence is what the system says of a process number.
type Presence uint8

// The answers of [Probe].
const (
	Unknown   Presence = iota // the question could not be answered
	Absent                    // no such process
	Present                   // exists and may be signalled
	Forbidden                 // exists, belongs to somebody else
	Exited                    // has ended, its parent has not reaped it
)

// Process is the evidence about one process number at the time of one look.
type Process struct {
	Presence Presence
	Start    uint64 // as in Self; 0 is unknown
	Thread   bool   // the number is only a thread of another process
}

// Listed is one live process of a list.
type Listed struct {
	PID, Parent, Group int
	Start              uint64 // as in Self
}

// Description is what people want to know of a process; zero fields are unknown.
type Description struct {
	Command string
	Started time.Time
}
