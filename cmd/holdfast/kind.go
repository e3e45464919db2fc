package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/holdfast-go/holdfast/filelock"
)

// kind is which of the package's locks a verb takes.
type kind struct {
	Kind  string `enum:"record,kernel,named" default:"record" placeholder:"record|kernel|named" help:"Which lock: the record lock FILE.lock, which Node programs share; the system's lock on FILE itself; or the lock that is named FILE. ${default} if not given."`
	Scope scope  `placeholder:"all|user|group:NAME" help:"For whom a name is one lock: all users of this machine, this user, or the members of a group."`
}

// scope is for whom a name is one lock.
type scope struct{ in filelock.Scope }

// UnmarshalText reads all, user or group:NAME.
func (s *scope) UnmarshalText(text []byte) error {
	group, isGroup := strings.CutPrefix(string(text), "group:")
	switch {
	case string(text) == "all":
		s.in = filelock.AllUsers
	case string(text) == "user":
		s.in = filelock.CurrentUser
	case isGroup && group != "":
		s.in = filelock.Group(group)
	default:
		return fmt.Errorf("%q is no scope: give all, user or group:NAME", text)
	}
	return nil
}

// validate refuses flags that do not go together.
func (k kind) validate() error {
	switch {
	case k.Kind == "named" && k.Scope.in == "":
		return errors.New("--kind named needs --scope: the same name in two scopes is two locks")
	case k.Kind != "named" && k.Scope.in != "":
		return errors.New("--scope needs --kind named")
	}
	return nil
}

// acquire takes the lock, for h's process if it is of the kind that can name another than ourselves.
func (k kind) acquire(h *holding, file string) (filelock.Lease, error) {
	if k.Kind != "record" {
		h.pid = os.Getpid()
	}
	switch k.Kind {
	case "kernel":
		return h.told(filelock.Kernel(file, h.options()...).Acquire(h.ctx))
	case "named":
		return h.told(filelock.Named(file, k.Scope.in, h.options()...).Acquire(h.ctx))
	}
	return filelock.Record(file, append(h.options(), filelock.OnBehalfOf(h.pid))...).Acquire(h.ctx)
}

// told says that a lock is held of a kind that does not say so itself.
func (h *holding) told(lease filelock.Lease, err error) (filelock.Lease, error) {
	if err == nil {
		h.acquired(lease)
	}
	return lease, err
}

// check looks whether the lease is lost, at the disk if the kind can.
func check(lease filelock.Lease) error {
	if l, ok := lease.(interface{ Check() error }); ok {
		return l.Check()
	}
	return lease.Err()
}
