package atomicwrite

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/holdfast-go/holdfast/filelock"
	"github.com/holdfast-go/holdfast/internal/sys"
)

func TestErrorKinds(t *testing.T) {
	all := []error{
		ErrBusy, ErrInUse, ErrCrossDevice, ErrNoSpace, ErrReadOnly, ErrNameTooLong, ErrIsDirectory, ErrLoop,
		ErrIrregular, ErrInvalidPath, fs.ErrNotExist, fs.ErrExist, errors.ErrUnsupported,
	}
	for _, c := range []struct {
		err  error
		want error
	}{
		{sys.Busy, ErrBusy}, {sys.InUse, ErrInUse}, {sys.CrossDevice, ErrCrossDevice}, {sys.NoSpace, ErrNoSpace},
		{sys.ReadOnly, ErrReadOnly}, {sys.NameTooLong, ErrNameTooLong}, {sys.IsDirectory, ErrIsDirectory},
		{sys.Loop, ErrLoop}, {ErrIrregular, ErrIrregular}, {filelock.ErrInvalidPath, ErrInvalidPath},
		{sys.NotExist, fs.ErrNotExist}, {sys.Exists, fs.ErrExist}, {sys.Unsupported, errors.ErrUnsupported},
	} {
		var err error = &Error{Op: opWrite, Path: "file", Err: c.err}
		for _, kind := range all {
			assert.Equal(t, kind == c.want, errors.Is(err, kind), "%v is %v", err, kind)
		}
	}
}

func TestErrorText(t *testing.T) {
	for _, c := range []struct {
		err  Error
		want string
	}{
		{
			Error{Op: opRename, Path: "a/file", Err: sys.Busy},
			"a/file: cannot rename the temporary file over it: device or resource busy; " +
				"a mount point, such as a bind-mounted file, cannot be replaced: mount its directory instead",
		},
		{
			Error{Op: opCreate, Path: "a/file", object: "a", Err: sys.AccessDenied},
			"a/file: cannot create a temporary file in the directory a: permission denied; " +
				"a replacement needs write permission on that directory, not on the file",
		},
		{
			Error{Op: opRename, Path: "file", Err: sys.NotPermitted},
			"file: cannot rename the temporary file over it: operation not permitted; " + deniedAdvice,
		},
		{
			Error{Op: opLook, Path: "file", object: "dir/file", Err: sys.AccessDenied},
			"file: cannot look at dir/file: permission denied",
		},
		{
			Error{Op: opRename, Path: "file", Err: sys.CrossDevice},
			"file: cannot rename the temporary file over it: not on one file system; " +
				"the file system does not rename within this directory: use another directory",
		},
		{
			Error{Op: opWrite, Path: "file", Err: sys.NoSpace},
			"file: cannot write the temporary file: no space left on device; free space or quota and try again",
		},
		{
			Error{Op: opCreate, Path: "file", object: ".", Err: sys.ReadOnly},
			"file: cannot create a temporary file in the directory .: read-only file system; mount the file system writable",
		},
		{
			Error{Op: opPath, Path: "file", Err: sys.NameTooLong},
			"file: cannot use this path: file name too long; " +
				"a file name may have 255 bytes (Windows: characters), a path a few thousand: shorten it",
		},
		{
			Error{Op: opFollow, Path: "file", object: "l", Err: sys.Loop},
			"file: cannot read the link l: too many levels of symbolic links; " +
				"its links lead in a circle or are more than 40: mend them",
		},
		{
			Error{Op: opRename, Path: "file", Err: sys.InUse},
			"file: cannot rename the temporary file over it: in use by another process; " +
				"another program has the file open and does not share it, tried for 1.1 s: close it there and try again",
		},
		{
			Error{Op: opOpenDir, Path: "d/file", object: "d", Err: sys.NotExist},
			"d/file: cannot open the directory d: no such file or directory; make the directory, or mount what it lies on",
		},
		{
			Error{Op: opRead, Path: "file", Err: sys.NotExist},
			"file: cannot read it: no such file or directory",
		},
		{
			Error{Op: opSyncDir, Path: "d/file", object: "d", Err: sys.IO, Replaced: true},
			"d/file: cannot sync the directory d: input/output error; " +
				"the new content is in place, but a power cut may bring the old back",
		},
		{
			Error{Op: opSyncDir, Path: "d/file", object: "d", Err: sys.AccessDenied, Replaced: true},
			"d/file: cannot sync the directory d: permission denied; it takes read permission on the directory; " +
				"Sync(SyncFile) does without; the new content is in place, but a power cut may bring the old back",
		},
		{
			Error{Op: opRename, Path: "file", Err: sys.IO, Replaced: true},
			"file: cannot rename the temporary file over it: input/output error; the new content is in place",
		},
		{
			Error{Op: opWrite, Path: "file", Err: sys.IO, Temp: "file.000000000000.tmp", left: sys.ReadOnly},
			"file: cannot write the temporary file: input/output error; " +
				"the temporary file file.000000000000.tmp is left, remove it: read-only file system",
		},
		{
			Error{Op: opRename, Path: "a\nb\x1b[31m", object: "c\rd", Err: errors.New("two\nlines"), Temp: "e\tf"},
			`"a\nb\x1b[31m": cannot rename the temporary file over it "c\rd": "two\nlines"; ` +
				`the temporary file "e\tf" is left, remove it`,
		},
		{
			Error{Op: opPath, Err: ErrInvalidPath},
			`"": cannot use this path: path names no file`,
		},
		{
			Error{Op: opRead, Path: "mit Leerzeichen/ä"},
			"mit Leerzeichen/ä: cannot read it",
		},
	} {
		assert.Equal(t, c.want, c.err.Error())
	}
}
