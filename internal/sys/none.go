//go:build !unix && !windows

package sys

import "io/fs"

// Dir cannot be had on this system.
type Dir struct{}

// File cannot be had on this system.
type File struct{}

// OpenDir is [Unsupported] here, and with it everything that needs a directory.
func OpenDir(string) (*Dir, error) { return nil, Unsupported }

// OpenFile is [Unsupported] here.
func OpenFile(string) (*File, error) { return nil, Unsupported }

func (*Dir) Close() error                                 { return Unsupported }
func (*Dir) ID() (FileID, error)                          { return FileID{}, Unsupported }
func (*Dir) Lstat(string) (Info, error)                   { return Info{}, Unsupported }
func (*Dir) Open(string) (*File, error)                   { return nil, Unsupported }
func (*Dir) CreateNew(string, fs.FileMode) (*File, error) { return nil, Unsupported }
func (*Dir) CreateUnnamed(fs.FileMode) (*File, error)     { return nil, Unsupported }
func (*Dir) LinkUnnamed(*File, string) error              { return Unsupported }
func (*Dir) MoveNew(*File, string, string) error          { return Unsupported }
func (*Dir) Link(string, string) error                    { return Unsupported }
func (*Dir) Replace(*File, string, string) error          { return Unsupported }
func (*Dir) Remove(string, *File) error                   { return Unsupported }
func (*Dir) Sync() error                                  { return Unsupported }

func (*File) Stat() (Info, error)               { return Info{}, Unsupported }
func (*File) Read([]byte) (int, error)          { return 0, Unsupported }
func (*File) ReadAt([]byte, int64) (int, error) { return 0, Unsupported }
func (*File) Write([]byte) (int, error)         { return 0, Unsupported }
func (*File) Chmod(fs.FileMode) error           { return Unsupported }
func (*File) Sync() error                       { return Unsupported }
func (*File) Close() error                      { return Unsupported }
func (*File) TryLock(bool) error                { return Unsupported }
func (*File) Unlock() error                     { return Unsupported }
func (*File) Touch() error                      { return Unsupported }

// Probe knows nothing here.
func Probe(int) Process { return Process{} }

// Describe knows nothing here.
func Describe(int) Description { return Description{} }

// ProbeGroup knows nothing here.
func ProbeGroup(int) Presence { return Unknown }
