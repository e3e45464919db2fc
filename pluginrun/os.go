package pluginrun

import (
	"context"
	"io"
	"io/fs"
	"time"

	"github.com/holdfast-go/holdfast/atomicwrite"
	"github.com/holdfast-go/holdfast/filelock"
	"github.com/holdfast-go/holdfast/internal/attribute"
	"github.com/holdfast-go/holdfast/internal/sys"
)

// system is the machine as a run sees it. It is passed in once and holds no policy: no retry, no decision. Each call that
// changes something on disk is one step, whole or not at all.
type system interface {
	self() sys.Self
	now() time.Time
	environ() []string
	hasGroups() bool
	probe(pid int) sys.Process
	probeGroup(pid int) sys.Presence
	inGroup(pid int) bool // we, or a parent of ours
	// pause returns nil after d, and the context's cause when it ends first.
	pause(ctx context.Context, d time.Duration) error
	after(d time.Duration, f func()) timer
	random(p []byte)
	lookPath(program string, env []string) (string, error)

	absolute(dir string) (string, error)         // of one that exists
	makeDir(path string, perm fs.FileMode) error // and those above it; one that exists is fine
	syncDir(path string) error
	identify(dir string) (sys.FileID, error)
	lock(ctx context.Context, path string, opts []filelock.Option) (lock, error)

	openRecord(dir string) (recordFile, error) // kind NotExist: there is none
	writeRecord(dir string, r recordedRun, start uint64) (recordID, error)
	removeRecord(dir string, id recordID) error // errOther: it is another one by now

	lstat(path string) (sys.Info, error)
	stat(path string) (fs.FileMode, error) // through links, and so does readFile
	readFile(path string) ([]byte, error)
	readLink(path string) (string, error)
	symlink(target, path string) error // in the place of what is there
	writeFile(path string, data []byte, exactly fs.FileMode, opts ...atomicwrite.Option) error
	remove(path string, durably bool) error // never a directory
	removeDir(path string) error            // only an empty one
	rename(from, to string) error
	list(dir string) ([]string, error)
	createLog(path string) (io.WriteCloser, error)

	start(s start) (process, error)
	isScript(err error) bool // of a process's open: the file is no program, and may be a shell's script
	// marked lists the live processes whose environment has this mark, or a word that begins with it. An error means that
	// there may be more of them, and so does one of members.
	marked(mark string) ([]Process, error)
	// recorded lists the live processes of a run that is not ours, but for us and our parents.
	recorded(r recordedRun) []Process
}

// lock is a held filelock.Lock.
type lock interface {
	Done() <-chan struct{}
	Err() error
	Check() error // looks now
	Release() error
}

// recordFile is one look at the record.
type recordFile struct {
	info      sys.Info
	data      []byte // as much as a record can have, and one byte
	local     bool
	attribute *attribute.Attribute // nil: there is none
}

// recordID tells one record from all others. The number of its file alone does not, unless the file is kept open: numbers
// are used again, and a writer that does not rename may have written another record into this very file.
type recordID struct {
	file sys.FileID
	data string
	open io.Closer // nil: nothing is kept open
}

func (id recordID) close() {
	if id.open != nil {
		id.open.Close()
	}
}

// start is what to start.
type start struct {
	path     string
	args     []string
	env      []string
	dir      string
	attached bool
	mark     string // the word of Variable that is this run's
}

// process is a started program and its tree.
type process interface {
	pid() int
	open() error // lets it begin
	abandon()    // it does not begin
	reap() (exitCode int, signal string)
	// stdout and stderr are nil for an attached run. closeOutput makes both end.
	output() (stdout, stderr io.Reader)
	closeOutput()
	members() ([]Process, error)
	terminate() (asked bool) // those that were not asked yet; false: this system has no asking
	kill()
	close()
}

type timer interface {
	Stop() bool
	Reset(d time.Duration) bool
}
