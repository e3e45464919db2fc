package filelock_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/holdfast-go/holdfast/filelock"
	"github.com/holdfast-go/holdfast/filelock/locktest"
)

var kinds = []locktest.Kind{
	{
		Name: "Record",
		New: func(s locktest.Setting) filelock.Locker {
			return filelock.Record(filepath.Join(s.Dir, s.Name), s.Options()...)
		},
		Lose:      removing("*.lock"),
		Told:      true,
		ToldLater: true,
	},
	{
		Name: "Kernel",
		New: func(s locktest.Setting) filelock.Locker {
			return filelock.Kernel(filepath.Join(s.Dir, s.Name), s.Options()...)
		},
		Lose: removing("*"),
	},
	{
		Name: "KernelAt",
		New: func(s locktest.Setting) filelock.Locker {
			return filelock.KernelAt(s.Dir, s.Name, s.Options()...)
		},
		Lose: removing("*"),
	},
	{
		Name: "Named",
		New: func(s locktest.Setting) filelock.Locker {
			_ = os.Chmod(s.Dir, 0o777|os.ModeSticky) // as a system's directory for locks must be
			return filelock.NamedAt(s.Dir, s.Name, s.Options()...)
		},
		Lose:      removing("*/*"),
		Told:      true,
		ToldLater: runtime.GOOS != "windows", // the mutex ended with its last process
	},
}

// removing has the lock's files removed under their holder, where a held file can be.
func removing(pattern string) func(locktest.Setting) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	return func(s locktest.Setting) error {
		files, err := filepath.Glob(filepath.Join(s.Dir, pattern))
		if err == nil && len(files) == 0 {
			err = errors.New("nothing to remove")
		}
		for _, f := range files {
			err = errors.Join(err, os.Remove(f))
		}
		return err
	}
}

func init() { locktest.Main(kinds...) }

func TestConformance(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.Name, func(t *testing.T) { locktest.Run(t, k) })
	}
}
