package pluginrun

import (
	"context"
	"crypto/rand"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/atomicwrite"
	"github.com/holdfast-go/holdfast/filelock"
	"github.com/holdfast-go/holdfast/internal/child"
	"github.com/holdfast-go/holdfast/internal/sys"
)

// osSystem is the real machine.
type osSystem struct{}

func (osSystem) self() sys.Self                  { return sys.Me() }
func (osSystem) now() time.Time                  { return time.Now() }
func (osSystem) environ() []string               { return child.Environ() }
func (osSystem) probe(pid int) sys.Process       { return sys.Probe(pid) }
func (osSystem) probeGroup(pid int) sys.Presence { return sys.ProbeGroup(pid) }
func (osSystem) random(p []byte)                 { rand.Read(p) }
func (osSystem) rename(from, to string) error    { return os.Rename(from, to) }

func (osSystem) after(d time.Duration, f func()) timer { return time.AfterFunc(d, f) }

func (osSystem) pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// lookPath finds a program as a shell with this environment would. A path is made absolute, since the program starts in
// another directory than ours.
func (osSystem) lookPath(program string, env []string) (string, error) {
	if program == "" {
		return "", fs.ErrNotExist
	}
	if strings.ContainsFunc(program, func(r rune) bool { return r < 0x80 && os.IsPathSeparator(uint8(r)) }) {
		path, err := fromHere(program)
		if err != nil {
			return "", err
		}
		return exec.LookPath(path)
	}
	var found error = fs.ErrNotExist
	for _, dir := range filepath.SplitList(variable(env, "PATH")) {
		if !filepath.IsAbs(dir) { // what is found by where we happen to be is not run
			continue
		}
		path, err := exec.LookPath(sys.Below(dir, program))
		if err == nil {
			return path, nil
		}
		if sys.IsKind(err, sys.AccessDenied) {
			found = err
		}
	}
	return "", found
}

// fromHere makes a path absolute; ".." in it stays.
func fromHere(path string) (string, error) {
	if sys.Climbs(path) {
		return sys.Absolute(path)
	}
	return filepath.Abs(path)
}

// absolute is where dir is, whatever our working directory becomes. What a ".." behind a link means, the system says and not
// the text.
func (osSystem) absolute(dir string) (string, error) {
	if !sys.Climbs(dir) {
		return filepath.Abs(dir)
	}
	if !filepath.IsAbs(dir) && filepath.VolumeName(dir) == "" && !os.IsPathSeparator(dir[0]) {
		here, err := os.Getwd() // by way of links, perhaps
		if err != nil {
			return "", err
		}
		dir = here + string(filepath.Separator) + dir
	}
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	return filepath.Abs(dir)
}

func (osSystem) makeDir(path string, perm fs.FileMode) error { return os.MkdirAll(path, perm) }

func (osSystem) removeDir(path string) error {
	if info, err := os.Lstat(path); err != nil || !info.IsDir() {
		return err
	}
	return os.Remove(path)
}

func (osSystem) syncDir(path string) error {
	d, err := sys.OpenDir(path)
	if err != nil {
		return err
	}
	defer d.Close()
	return synced(d.Sync())
}

// synced leaves out the answer of a file system that does not sync directories.
func synced(err error) error {
	if sys.IsKind(err, sys.Invalid, sys.Unsupported) {
		return nil
	}
	return err
}

func (osSystem) identify(path string) (sys.FileID, error) {
	d, err := sys.OpenDir(path)
	if err != nil {
		return sys.FileID{}, err
	}
	defer d.Close()
	return d.ID()
}

func (osSystem) lock(ctx context.Context, path string, opts []filelock.Option) (lock, error) {
	return filelock.Acquire(ctx, path, opts...)
}

// split is filepath.Split, with a directory that can be opened.
func split(path string) (dir, name string) {
	dir, name = filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	return dir, name
}

func (osSystem) lstat(path string) (sys.Info, error) {
	dir, name := split(path)
	d, err := sys.OpenDir(dir)
	if err != nil {
		return sys.Info{}, err
	}
	defer d.Close()
	return d.Lstat(name)
}

func (osSystem) stat(path string) (fs.FileMode, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return info.Mode(), nil
}

func (osSystem) readLink(path string) (string, error) { return os.Readlink(path) }
func (osSystem) symlink(target, path string) error    { return atomicwrite.Symlink(target, path) }

func (osSystem) readFile(path string) ([]byte, error) { return atomicwrite.ReadFile(path) }

func (osSystem) writeFile(path string, data []byte, exactly fs.FileMode, opts ...atomicwrite.Option) error {
	return atomicwrite.WriteFile(path, data, exactly, append(opts, atomicwrite.ExactMode())...)
}

func (osSystem) remove(path string, durably bool) error {
	dir, name := split(path)
	d, err := sys.OpenDir(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Remove(name, nil); err != nil || !durably {
		return err
	}
	return synced(d.Sync())
}

func (osSystem) list(dir string) (names []string, err error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Readdirnames(-1)
}

func (osSystem) createLog(path string) (io.WriteCloser, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}
