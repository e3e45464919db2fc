package atomicwrite

import (
	"io/fs"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// twist is a machine that does some operations in another way than it was asked to.
type twist struct {
	system
	file    func(f file) file
	create  func(d directory, name string, mode fs.FileMode) (file, error)
	replace func(d directory, from, to string) error
	syncDir func(d directory, path string) error
}

func (t twist) openDir(path string) (directory, error) {
	d, err := t.system.openDir(path)
	if err != nil {
		return nil, err
	}
	return twistedDir{d, path, t}, nil
}

type twistedDir struct {
	directory
	path string
	t    twist
}

func (d twistedDir) createNew(name string, mode fs.FileMode) (f file, err error) {
	if d.t.create != nil {
		f, err = d.t.create(d.directory, name, mode)
	} else {
		f, err = d.directory.createNew(name, mode)
	}
	if err != nil || d.t.file == nil {
		return f, err
	}
	return d.t.file(f), nil
}

func (d twistedDir) replace(from, to string) error {
	if d.t.replace != nil {
		return d.t.replace(d.directory, from, to)
	}
	return d.directory.replace(from, to)
}

func (d twistedDir) Sync() error {
	if d.t.syncDir != nil {
		return d.t.syncDir(d.directory, d.path)
	}
	return d.directory.Sync()
}

// heedless is a file with a sync that only answers.
type heedless struct {
	file
	answer error
}

func (f heedless) Sync() error { return f.answer }

// lateMode sets the mode when the file is closed, after its sync.
type lateMode struct {
	file
	mode fs.FileMode
}

func (f *lateMode) Chmod(mode fs.FileMode) error {
	f.mode = mode
	return nil
}

func (f *lateMode) Close() error {
	if f.mode != 0 {
		_ = f.file.Chmod(f.mode)
	}
	return f.file.Close()
}

// buffered writes when it is closed, after its sync.
type buffered struct {
	file
	data []byte
}

func (f *buffered) Write(p []byte) (int, error) {
	f.data = append(f.data, p...)
	return len(p), nil
}

func (f *buffered) Close() error {
	for len(f.data) > 0 {
		n, _ := f.file.Write(f.data)
		f.data = f.data[n:]
	}
	return f.file.Close()
}

func noSync(directory, string) error { return nil }

// TestPowerCutFindsMutants shows that the power cuts find a step that is left out or comes too late, each by what it does
// to the file.
func TestPowerCutFindsMutants(t *testing.T) {
	without := func(f file) file { return heedless{file: f} }
	for _, c := range []struct {
		name  string
		twist twist
		finds string
	}{
		{"the file is not synced", twist{file: without}, "incomplete"},
		{"the directory is not synced", twist{syncDir: noSync}, "old"},
		{"the directory of a new directory is not synced", twist{syncDir: func(d directory, path string) error {
			if path == "a" {
				return nil
			}
			return d.Sync()
		}}, "absent"},
		{"the directory is synced before the rename", twist{syncDir: noSync, replace: func(d directory, from, to string) error {
			if err := d.Sync(); err != nil {
				return err
			}
			return d.replace(from, to)
		}}, "old"},
		{"the file is synced after the rename", twist{file: without, replace: func(d directory, from, to string) error {
			if err := d.replace(from, to); err != nil {
				return err
			}
			f, err := d.open(to)
			if err != nil {
				return err
			}
			defer f.Close()
			return f.Sync()
		}}, "empty"},
		{"the file is written after its sync", twist{file: func(f file) file { return &buffered{file: f} }}, "incomplete"},
		{"the mode is set after the sync", twist{file: func(f file) file { return &lateMode{file: f} }}, "mode -rw-r-----"},
		{"the temp is open to all", twist{create: func(d directory, name string, _ fs.FileMode) (file, error) {
			return d.createNew(name, 0o777)
		}}, `a temp with mode -rwxr-x--- and ""`},
		{"the temp has another name", twist{
			create:  func(d directory, name string, mode fs.FileMode) (file, error) { return d.createNew(name+"~", mode) },
			replace: func(d directory, from, to string) error { return d.replace(from+"~", to) },
		}, "a stray file file.000000000000.tmp~"},
		{"the old file is removed before the rename", twist{replace: func(d directory, from, to string) error {
			_ = d.remove(to)
			return d.replace(from, to)
		}}, "absent"},
		{"the temp stays", twist{replace: func(d directory, from, to string) error {
			f, err := d.createNew(from+".copy", 0o666)
			if err != nil {
				return err
			}
			defer f.Close()
			if _, err := f.Write([]byte(newContent)); err != nil {
				return err
			}
			return d.replace(from+".copy", to)
		}}, "a temp is left"},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := map[string]bool{}
			for _, p := range powerCuts() {
				if p.way.name != "written" {
					continue
				}
				got := p.run(c.twist)
				for _, kind := range got.during {
					found[kind] = found[kind] || !slices.Contains(p.promised(false), kind)
				}
				for _, kind := range got.returned {
					found[kind] = found[kind] || !slices.Contains(p.promised(true), kind)
				}
			}
			assert.True(t, found[c.finds], "%q is not among %v", c.finds, found)
		})
	}
}

// TestPowerCutAfterFailedSync: an error says what a power cut can leave. Without Replaced it is the old file.
func TestPowerCutAfterFailedSync(t *testing.T) {
	for _, c := range []struct {
		name     string
		twist    twist
		replaced bool
		leaves   []string
	}{
		{"file", twist{file: func(f file) file { return heedless{f, injected} }}, false, []string{"old"}},
		{"directory", twist{syncDir: func(directory, string) error { return injected }}, true, []string{"new", "old"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, way := range cutWays() {
				if way.abandons {
					continue
				}
				p := powerCut{place: cutPlaces()[0], way: way}
				got := p.run(c.twist)
				var e *Error
				require.ErrorAs(t, got.err, &e)
				assert.Equal(t, c.replaced, e.Replaced)
				assert.ElementsMatch(t, c.leaves, got.during, way.name)
				assert.ElementsMatch(t, c.leaves, got.returned, way.name)
			}
		})
	}
}
