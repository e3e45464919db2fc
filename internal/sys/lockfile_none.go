//go:build !unix && !windows

package sys

import "io/fs"

// OpenLock is [Unsupported] here, and with it everything that needs a lock file.
func OpenLock(string) (*File, error) { return nil, Unsupported }

// CreateLock is [Unsupported] here.
func CreateLock(string, fs.FileMode) (*File, error) { return nil, Unsupported }

// OpenLockBeneath is [Unsupported] here.
func OpenLockBeneath(string, string) (*File, error) { return nil, Unsupported }

// CreateLockBeneath is [Unsupported] here.
func CreateLockBeneath(string, string, fs.FileMode) (*File, error) { return nil, Unsupported }

// Absolute leaves path as it is: nothing is opened here.
func Absolute(path string) (string, error) { return path, nil }

// Lstat is [Unsupported] here.
func Lstat(string) (Info, error) { return Info{}, Unsupported }

func (*File) WriteAt([]byte, int64) (int, error) { return 0, Unsupported }
func (*File) Truncate(int64) error               { return Unsupported }
