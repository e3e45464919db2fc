//go:build unix

package filelock

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/sys"
)

var someGroup, otherGroup = testGroups()

// testGroups are two groups that this process may give a file to.
func testGroups() (one, two string) {
	one, two = strconv.Itoa(os.Getegid()), "65534"
	if more, err := os.Getgroups(); os.Geteuid() != 0 && err == nil {
		two = one
		for _, g := range more {
			if s := strconv.Itoa(g); s != one {
				two = s
			}
		}
	}
	return one, two
}

// newPlace is a directory as the system's for named locks is, but of this user's.
func newPlace(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o777|os.ModeSticky))
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755))
	return dir
}

// realPlace is the machine's own.
const realPlace = "real"

func machineAt(place string) namedMachine {
	if place == realPlace {
		return osNamed()
	}
	info, err := sys.Lstat(place)
	if err != nil {
		panic(err)
	}
	return namedFiles{osSystem{}, place, info.UID}
}

// forget removes what a test has made in the machine's own place.
func forget(t testing.TB, name string) {
	require.NoError(t, os.Remove(filepath.Join(namedBase(runtime.GOOS), "holdfast-all-"+namedFileName(name))))
}
