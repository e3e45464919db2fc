//go:build unix

package pluginrun

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/filelock"
)

// losing ends the script of a run that has lost its lock.
const losing = "echo a >package.json; rm package.json.lock; "

// A run has lost its lock, and before the step at which it lets go of something the next run begins. Nothing of that one is
// touched: it is recorded, and it can restore.
func TestNextRunAfterALoss(t *testing.T) {
	for _, c := range []struct{ before, script string }{
		{"rename", losing + "exec sleep 1000"},       // its copies are set aside
		{"removeRecord", losing + "exec sleep 1000"}, // its record is removed
		{"remove", losing + "exit 0"},                // its copies are dropped
		{"removeRecord", losing + "exit 0"},
		{"syncDir", ""},   // it was to begin
		{"createLog", ""}, // it was just about to
	} {
		t.Run(c.before+" "+c.script, func(t *testing.T) {
			dir := profile(t)
			gate := newGateway(t, dir)
			started := make(chan int, 1)
			var was string
			var next *Result
			var failed error
			var over sync.WaitGroup
			begin := sync.OnceFunc(func() {
				os.Remove(place{dir}.manifest() + ".lock")
				over.Go(func() {
					opts := newOptions([]Option{Program("sh"), OnStart(func(pid int) { started <- pid })})
					next, failed = run(context.Background(), osSystem{}, newActive(), dir, opts, []string{"-c", waitAtGate + "; echo b >package.json; exit 1"})
					close(started)
				})
				program, begun := <-started
				require.True(t, begun, "%v", failed)
				started <- program
				was = read(t, filepath.Join(dir, manifest))
			})
			s := stepped{on: func(step string, after bool) error {
				if step == c.before && !after {
					begin()
				}
				return nil
			}}
			_, err := run(context.Background(), s, newActive(), dir, newOptions([]Option{Program("sh")}), []string{"-c", c.script})
			require.Error(t, err)
			if c.before != "createLog" {
				require.ErrorIs(t, err, filelock.ErrLost)
			}
			assert.Equal(t, fmt.Sprintf("{\"pid\":%d,\"grouped\":true}\n", <-started), read(t, place{dir}.record()))
			gate.let(1)
			over.Wait()
			require.NoError(t, failed)
			assert.Equal(t, []string{manifest}, next.Restored)
			assert.Equal(t, was, read(t, filepath.Join(dir, manifest)))
			settled(t, dir)
		})
	}
}

// A record that is not the one that the run wrote stays, though its file has the same number or the same bytes.
func TestRecordOfAnother(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, path string){
		"written into the same file": func(t *testing.T, path string) { write(t, path, `{"pid":1,"grouped":false}`) },
		"another file": func(t *testing.T, path string) {
			text := read(t, path)
			require.NoError(t, os.Remove(path))
			write(t, path, text)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := profile(t)
			record := place{dir}.record()
			var want string
			_, err := shell(t, dir, "echo ready; "+losing+"exec sleep 1000", Output(when("ready", func() {
				change(t, record)
				want = read(t, record)
			}), nil))
			require.ErrorIs(t, err, filelock.ErrLost)
			assert.Equal(t, want, read(t, record))
		})
	}
}

// What is left by a version that had all copies in one directory is restored.
func TestCopiesOfAnEarlierVersion(t *testing.T) {
	dir := profile(t)
	copies := place{dir}.copies()
	require.NoError(t, os.MkdirAll(copies, 0o700))
	write(t, filepath.Join(copies, "0"), "before\n")
	write(t, filepath.Join(copies, "1"), "litter\n")
	write(t, filepath.Join(copies, indexName), `{"version":1,"files":[{"name":"package.json","copy":"0","mode":"0644"},{"name":"pnpm-lock.yaml"}]}`+"\n")
	write(t, filepath.Join(dir, "pnpm-lock.yaml"), "half\n")
	state, err := Inspect(dir)
	require.NoError(t, err)
	assert.True(t, state.Restore)
	r, err := shell(t, dir, "cat package.json; ls")
	require.NoError(t, err)
	assert.Equal(t, "before\npackage.json\npackage.json.lock\n", string(r.Tail))
	settled(t, dir)
}

// Of copies that were never complete nothing is restored; they are swept.
func TestCopiesWithoutAnIndex(t *testing.T) {
	dir := profile(t)
	copies := place{dir}.copiesOf("0123456789abcdef")
	require.NoError(t, os.MkdirAll(copies, 0o700))
	write(t, filepath.Join(copies, "0"), "half\n")
	r, err := shell(t, dir, "cat package.json")
	require.NoError(t, err)
	assert.Equal(t, "{}\n", string(r.Tail))
	settled(t, dir)
}

// Copies that stay although the lock is lost do not hide that it is: others may have written, and the next run restores.
func TestLostAndKept(t *testing.T) {
	for step, script := range map[string]string{"rename": losing + "exit 3", "remove": losing + "exit 0"} {
		t.Run(step, func(t *testing.T) {
			dir := profile(t)
			s := stepped{on: func(taken string, _ bool) error {
				if taken == step {
					return syscall.EACCES
				}
				return nil
			}}
			_, err := run(context.Background(), s, newActive(), dir, newOptions([]Option{Program("sh")}), []string{"-c", script})
			require.ErrorIs(t, err, filelock.ErrLost)
			require.ErrorIs(t, err, syscall.EACCES)
			assert.ErrorContains(t, err, "; the next run restores the files as they were: "+place{dir}.copies())
			r, err := shell(t, dir, "cat package.json")
			require.NoError(t, err)
			assert.Equal(t, "{}\n", string(r.Tail))
			settled(t, dir)
		})
	}
}

// An index that cannot be read is a person's business, who is told what to do; then runs begin again.
func TestIndexThatCannotBeRead(t *testing.T) {
	dir := profile(t)
	require.NoError(t, os.MkdirAll(place{dir}.copiesOf("0123456789abcdef"), 0o700))
	write(t, filepath.Join(place{dir}.copiesOf("0123456789abcdef"), indexName), "{\"version\":2}\n")
	index := filepath.Join(place{dir}.copiesOf("0123456789abcdef"), indexName)
	for range 2 { // the second time at the same place
		_, err := shell(t, dir, "touch ran")
		require.ErrorIs(t, err, ErrCopies)
		assert.ErrorContains(t, err, index+": ")
		assert.ErrorContains(t, err, "version 2; compare the copies beside it with the files, then move their directory away")
		assert.NoFileExists(t, filepath.Join(dir, "ran"))
	}
	require.NoError(t, os.Rename(filepath.Dir(index), filepath.Join(dir, "away")))
	_, err := shell(t, dir, "")
	require.NoError(t, err)
}

func TestLostErrorUnwrapsToErrors(t *testing.T) {
	for want, e := range map[int]*LostError{1: {Err: filelock.ErrLost}, 2: {Err: filelock.ErrLost, Kept: syscall.EACCES}} {
		assert.Len(t, e.Unwrap(), want)
		assert.NotContains(t, e.Unwrap(), nil)
	}
}
