package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/holdfast-go/holdfast/atomicwrite"
)

// replacing is how a verb puts a new content in FILE's place.
type replacing struct {
	Mode       fileMode `placeholder:"OCTAL" help:"The new file's exact mode. The existing file's nine permission bits if not given, else 0666 less the umask."`
	Symlink    string   `enum:"refuse,replace,follow" default:"refuse" placeholder:"refuse|replace|follow" help:"What to do if FILE is a symbolic link: refuse (73), replace the link, or follow it and keep it. ${default} if not given."`
	Sync       string   `enum:"all,file,none" default:"all" placeholder:"all|file|none" help:"What must have reached the disk at the end: all, the file before it replaces the old one, or none. ${default} if not given."`
	AllowEmpty bool     `help:"Let the new content be empty. Otherwise that is refused (65), since a pipe that failed must not empty a file."`
	IfChanged  bool     `help:"Leave FILE alone, its times too, if it has the new content already."`
	IfMatch    digest   `placeholder:"sha256:HEX" help:"Replace FILE only if its content has this SHA-256 (else 76)."`
}

var syncPolicies = map[string]atomicwrite.SyncPolicy{
	"all": atomicwrite.SyncAll, "file": atomicwrite.SyncFile, "none": atomicwrite.SyncNone,
}

// options are the flags in the package's terms.
func (r *replacing) options() (fs.FileMode, []atomicwrite.Option) {
	opts := []atomicwrite.Option{atomicwrite.Sync(syncPolicies[r.Sync])}
	if r.Symlink == "follow" {
		opts = append(opts, atomicwrite.FollowSymlink())
	}
	if r.IfChanged {
		opts = append(opts, atomicwrite.IfChanged())
	}
	if r.Mode.given {
		return r.Mode.bits, append(opts, atomicwrite.ExactMode())
	}
	return 0o666, append(opts, atomicwrite.KeepMode())
}

// permit refuses a link that is not to be touched, and a directory that is missing: the package would make it. What names no
// file the package refuses.
func (r *replacing) permit(file string) error {
	if _, name := filepath.Split(file); name == "" {
		return nil
	}
	dir := directoryOf(file)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return &failure{exitCannotCreate, fmt.Sprintf("cannot write %s: there is no directory %s; make it first", file, dir)}
	}
	info, err := os.Lstat(file)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 && r.Symlink == "refuse" {
		return &failure{exitCannotCreate, fmt.Sprintf(
			"%s is a symbolic link: --symlink=follow writes where it leads, --symlink=replace puts a file in its place", file)}
	}
	return nil
}

func directoryOf(file string) string {
	if dir, _ := filepath.Split(file); dir != "" {
		return dir
	}
	return "."
}

// readable refuses what reading might wait for or never see the end of, such as a named pipe, also at the end of a link.
func readable(file string) error {
	info, err := os.Stat(file)
	if err != nil || info.Mode().IsRegular() || info.IsDir() {
		return nil // whoever reads it says what is wrong with it
	}
	return &failure{exitCannotCreate, file + " is not a regular file, so --if-match cannot look at its content; name a regular file, or remove it first"}
}

// matches refuses a content that is not the expected one.
func (r *replacing) matches(file string, content []byte, exists bool) error {
	switch {
	case !r.IfMatch.given:
		return nil
	case !exists:
		return &failure{exitStuck, file + " does not exist, so it is not what --if-match expects; look at what it should be, and repeat without that flag"}
	}
	if sum := sha256.Sum256(content); sum != r.IfMatch.sum {
		return &failure{exitStuck, fmt.Sprintf("%s has changed: it is sha256:%x now, not what --if-match expects; read it again and repeat the change", file, sum)}
	}
	return nil
}

// unreleased says of a file that has its new content that its lock was not given up as it should be.
type unreleased struct {
	file string
	err  error
}

func (u *unreleased) Error() string { return u.err.Error() }

func (u *unreleased) Unwrap() error { return u.err }

// refuseEmpty refuses a new content without a byte; what says where it came from.
func (r *replacing) refuseEmpty(file, what string, size int64) error {
	if size > 0 || r.AllowEmpty {
		return nil
	}
	return &failure{exitRefused, fmt.Sprintf("%s: %s is left as it was; --allow-empty makes it empty", what, file)}
}
