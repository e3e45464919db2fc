//go:build unix

package filelock

import (
	"fmt"
	"io/fs"
	"path"

	"github.com/holdfast-go/holdfast/internal/sys"
)

// namedFiles is a machine whose named locks are files.
type namedFiles struct {
	sys   namedSystem
	base  string // the directory
	owner uint32 // to whom it must belong
}

// namedSystem is the machine as named locks see it, one call a step.
type namedSystem interface {
	kernelSystem
	random(p []byte)
	user() uint32
	groupID(group string) (uint32, error)
	openShared(path string) (namedDir, error)
}

// namedDir is an open directory. Names are single components, never followed.
type namedDir interface {
	Stat() (sys.Info, error)
	Lstat(name string) (sys.Info, error)
	MakeDir(name string, perm fs.FileMode) error
	// SetMode follows a link.
	SetMode(name string, perm fs.FileMode) error
	openDir(name string) (namedDir, error)
	// openWrite opens what exists, for reading and writing, and never blocks.
	openWrite(name string) (namedFile, error)
	createUnnamed(perm fs.FileMode) (namedFile, error)
	linkUnnamed(f namedFile, name string) error
	createNew(name string, perm fs.FileMode) (namedFile, error)
	moveNew(from, to string) error
	remove(name string) error
	Close() error
}

// namedFile is an open lock file.
type namedFile interface {
	lockFile
	SetGroup(gid uint32) error
	// InMemory reports whether it lies on a file system that has no disk.
	InMemory() bool
}

// namedBase is the one directory that a system's named locks lie in, root's and everybody's to write to. It depends on
// nothing but the system. [Named] says why which.
func namedBase(goos string) string {
	switch goos {
	case "linux":
		return "/run/lock"
	case "darwin":
		return "/private/var/tmp"
	case "openbsd":
		return "/tmp"
	}
	return "/var/tmp"
}

// namedPlace is the file of one named lock: where it must be and what it must look like.
type namedPlace struct {
	below string      // the directory's own name in the base; "" is the base itself
	name  string      // the file's
	path  string      // the same in full
	perm  fs.FileMode // exactly
	user  *uint32     // whose file it must be; nil: anybody's
	group *uint32     // of which group; nil: any
}

func (m namedFiles) place(n namedLocker) (p namedPlace, err error) {
	group, isGroup := n.scope.group()
	file := namedFileName(n.name)
	switch {
	case n.scope == AllUsers:
		p = namedPlace{name: "holdfast-all-" + file, perm: 0o666}
	case n.scope == CurrentUser:
		user := m.sys.user()
		p = namedPlace{below: fmt.Sprintf("holdfast-user-%d", user), name: file, perm: 0o600, user: &user}
	case isGroup:
		id, err := m.sys.groupID(group)
		if err != nil {
			return namedPlace{}, misconfigured("find the group of a lock", group, err)
		}
		p = namedPlace{name: fmt.Sprintf("holdfast-group-%d-%s", id, file), perm: 0o660, group: &id}
	default:
		return namedPlace{}, n.noScope()
	}
	p.path = path.Join(m.base, p.below, p.name)
	return p, nil
}

// directory opens the directory that the file is in.
func (m namedFiles) directory(p namedPlace) (namedDir, error) {
	base, err := m.openBase()
	if err != nil {
		return nil, misconfigured("use the directory for locks", m.base, err)
	}
	if p.below == "" {
		return base, nil
	}
	defer base.Close()
	dir, err := openBelow(base, p)
	if err != nil {
		return nil, misconfigured("use the directory for the user's locks", path.Dir(p.path), err)
	}
	return dir, nil
}

// openBase opens the directory that all users share. Whoever may remove or rename other users' files there could split a
// lock.
func (m namedFiles) openBase() (namedDir, error) {
	parent, err := m.sys.openShared(path.Dir(m.base))
	if err != nil {
		return nil, err
	}
	defer parent.Close()
	base, err := parent.openDir(path.Base(m.base))
	if err != nil {
		return nil, err
	}
	info, err := base.Stat()
	switch {
	case err != nil:
	case info.UID != m.owner:
		err = belongs(info.UID, m.owner)
	case info.Mode&0o022 != 0 && info.Mode&fs.ModeSticky == 0:
		err = fmt.Errorf("its mode is %v: users may remove each other's files", info.Mode)
	default:
		return base, nil
	}
	base.Close()
	return nil, err
}

// openBelow opens the user's own directory in the base, and makes it if need be. In a directory like the base, what the user
// has made is removed or renamed by nobody but the user and root: it is the user's own from its first moment.
func openBelow(base namedDir, p namedPlace) (namedDir, error) {
	const perm = 0o700
	info, err := base.Lstat(p.below)
	if sys.IsKind(err, sys.NotExist) {
		if err := base.MakeDir(p.below, perm); err != nil {
			return nil, rootFirst(err)
		}
		info, err = base.Lstat(p.below)
	}
	switch {
	case err != nil:
		return nil, err
	case !info.Mode.IsDir():
		return nil, fmt.Errorf("it is %s", kindOfFile(info.Mode))
	case info.UID != *p.user:
		return nil, belongs(info.UID, *p.user)
	case info.Mode.Perm() != perm: // made by us, under a strange umask
		if err := base.SetMode(p.below, perm); err != nil {
			return nil, err
		}
	}
	return base.openDir(p.below)
}

// fits says what is wrong with an inode in the lock file's place, apart from having two names, which no kernel lock's may.
func (p namedPlace) fits(info sys.Info) error {
	switch {
	case !info.Regular():
		return fmt.Errorf("it is %s", kindOfFile(info.Mode))
	case p.user != nil && info.UID != *p.user:
		return belongs(info.UID, *p.user)
	case p.group != nil && info.GID != *p.group:
		return fmt.Errorf("it belongs to group %d, not %d", info.GID, *p.group)
	case info.Mode != p.perm:
		return fmt.Errorf("its mode is %v, not %v", info.Mode, p.perm)
	}
	return nil
}

// rootFirst says what to do about a directory that only root may write to.
func rootFirst(err error) error {
	if sys.IsKind(err, sys.AccessDenied) {
		return fmt.Errorf("%w: the directory is not open to all users, so root has to make this first", err)
	}
	return err
}

func belongs(to, not uint32) error { return fmt.Errorf("it belongs to user %d, not %d", to, not) }
