package atomicwrite

import (
	"io/fs"
	"path/filepath"
)

const (
	cutUmask   fs.FileMode = 0o027
	cutStated  fs.FileMode = 0o666
	cutOldMode fs.FileMode = 0o604
)

// cutPlace is what lies on the disk when a replacement begins.
type cutPlace struct {
	name     string
	target   string // with slashes, where the content goes
	link     bool   // it is reached by a link, "file"
	missing  bool
	unsynced bool // the new content is there already, and not durable
	opts     []Option
	want     fs.FileMode // of the new file
}

func cutPlaces() []cutPlace {
	return []cutPlace{
		{name: "plain", target: "file", want: 0o640},
		{name: "missing", target: "file", missing: true, want: 0o640},
		{name: "kept mode", target: "file", opts: []Option{KeepMode()}, want: cutOldMode},
		{name: "exact mode", target: "file", opts: []Option{ExactMode()}, want: cutStated},
		{name: "missing, exact mode", target: "file", missing: true, opts: []Option{KeepMode(), ExactMode()}, want: cutStated},
		{name: "missing parents", target: "a/b/file", missing: true, want: 0o640},
		{name: "link", target: "there/referent", link: true, opts: []Option{FollowSymlink()}, want: 0o640},
		{name: "there already", target: "file", unsynced: true, opts: []Option{IfChanged()}, want: 0o640},
	}
}

func (p cutPlace) path() string {
	if p.link {
		return "file"
	}
	return filepath.FromSlash(p.target)
}

// disk has the place, all of it durable but unsynced content.
func (p cutPlace) disk(ordered bool) *disk {
	d := newDisk(ordered, cutUmask)
	dir := d.root
	if p.link {
		link := d.newNode(fs.ModeSymlink | 0o777)
		link.link = p.target
		d.root.enter("", "file", link)
		dir = d.newNode(fs.ModeDir | 0o755)
		d.root.enter("", "there", dir)
	}
	if !p.missing {
		old := d.newNode(cutOldMode)
		old.append([]byte(oldContent))
		old.sync()
		dir.enter("", filepath.Base(p.target), old)
	}
	dir.sync()
	d.root.sync()
	if p.unsynced {
		recent := d.newNode(p.want)
		recent.append([]byte(newContent))
		d.root.enter("", "file", recent)
	}
	return d
}

// cutWay is a way to write the new content.
type cutWay struct {
	name     string
	abandons bool
	run      func(s system, path string, o options) error
}

func cutWays() []cutWay {
	streamed := func(end func(*Writer) error) func(system, string, options) error {
		return func(s system, path string, o options) error {
			w, err := create(s, path, cutStated, o)
			if err != nil {
				return err
			}
			for _, part := range []string{newContent[:7], newContent[7:]} {
				if _, err := w.Write([]byte(part)); err != nil {
					return err
				}
			}
			return end(w)
		}
	}
	return []cutWay{
		{name: "written", run: func(s system, path string, o options) error {
			return writeFile(s, path, []byte(newContent), cutStated, o)
		}},
		{name: "streamed", run: streamed((*Writer).Commit)},
		{name: "abandoned", abandons: true, run: streamed((*Writer).Close)},
		{name: "updated", run: func(s system, path string, o options) error {
			r := replacement{sys: s, opt: o, path: path, stated: cutStated}
			return update(r, func([]byte, bool) ([]byte, error) { return []byte(newContent), nil })
		}},
	}
}
