package pluginrun

import (
	"encoding/hex"
	"errors"
	"io"
	"time"

	"github.com/holdfast-go/holdfast/internal/attribute"
	"github.com/holdfast-go/holdfast/internal/sys"
)

func (osSystem) openRecord(dir string) (recordFile, error) {
	d, err := sys.OpenDir(dir)
	if err != nil {
		return recordFile{}, err
	}
	defer d.Close()
	info, err := d.Lstat(recordName)
	if err != nil || !info.Regular() {
		return recordFile{info: info}, err
	}
	f, err := d.Open(recordName)
	if err != nil {
		return recordFile{}, err
	}
	defer f.Close()
	var r recordFile
	if r.info, err = f.Stat(); err != nil || !r.info.Regular() {
		return r, err
	}
	r.local = f.Local()
	a, found, err := attribute.Read(f)
	if err != nil {
		return r, err
	}
	if found {
		r.attribute = &a
	}
	r.data, err = io.ReadAll(io.LimitReader(reader{f}, longestRecord+1))
	return r, err
}

// reader gives a file's end the name that package io knows.
type reader struct{ *sys.File }

func (r reader) Read(p []byte) (int, error) {
	n, err := r.File.Read(p)
	if n == 0 && err == nil && len(p) > 0 {
		return 0, io.EOF
	}
	return n, err
}

// writeRecord publishes the record whole and durable, where there is none. The file stays open where its number may be used
// again.
func (s osSystem) writeRecord(dir string, r recordedRun, start uint64) (id recordID, err error) {
	d, err := sys.OpenDir(dir)
	if err != nil {
		return id, err
	}
	defer d.Close()
	var random [6]byte
	s.random(random[:])
	temp := recordName + "." + hex.EncodeToString(random[:]) + ".tmp"
	f, err := d.CreateNew(temp, 0o600)
	if err != nil {
		return id, err
	}
	id = recordID{data: string(r.append(nil)), open: f}
	if id.file, err = fillRecord(f, id.data, r.pid, start); err == nil {
		err = d.MoveNew(f, temp, recordName)
		if err != nil && !sys.IsKind(err, sys.Exists) { // a file system, or a policy, that has only the other one
			err = d.Replace(f, temp, recordName)
		}
	}
	if err != nil {
		_ = d.Remove(temp, f)
		id.close()
		return recordID{}, err
	}
	if err := synced(d.Sync()); err != nil {
		_ = d.Remove(recordName, f)
		id.close()
		return recordID{}, err
	}
	if !numbersReturn {
		f.Close()
		id.open = nil
	}
	return id, nil
}

var errOther = errors.New("another run's is in its place")

func fillRecord(f *sys.File, text string, pid int64, start uint64) (id sys.FileID, err error) {
	info, err := f.Stat()
	if err != nil {
		return id, err
	}
	if err := f.Chmod(0o600); err != nil { // whatever the umask
		return id, err
	}
	child := sys.Me()
	child.PID, child.Start = int(pid), start
	if child.BootKnown() {
		a := attribute.New(child, info.ID.Dev, false, f.Local(), time.Now())
		// A file system that refuses it leaves the record to be judged like a Node writer's.
		_ = f.SetAttribute(attribute.Name, a.Append(nil))
	}
	for data := []byte(text); len(data) > 0; {
		n, err := f.Write(data)
		if err != nil {
			return id, err
		}
		data = data[n:]
	}
	return info.ID, f.Sync()
}

// removeRecord looks, then removes by name. Between the two another run, which holds the lock that we have lost, may have
// removed this record and renamed its own into place: we would then remove that one. It has to take all its steps up to
// there between our two.
func (s osSystem) removeRecord(dir string, id recordID) error {
	r, err := s.openRecord(dir)
	if err != nil {
		return err
	}
	if r.info.ID != id.file || string(r.data) != id.data {
		return errOther
	}
	return s.remove(sys.Below(dir, recordName), false)
}
