package pluginrun

import (
	"path/filepath"
	"slices"
	"strings"
)

// What lies in a profile. Node's plugin manager has the first two names too.
const (
	manifest   = "package.json"
	ownDir     = ".plugin-manager"
	recordName = "run.json"
	copiesName = "restore"    // one directory in it for each run, named by its token
	indexName  = "index.json" // written last, removed first: without it the copies are no copies
	logsName   = "logs"
)

// place is one profile and the paths in it.
type place struct{ dir string }

func (p place) manifest() string         { return below(p.dir, manifest) }
func (p place) file(name string) string  { return below(p.dir, name) }
func (p place) own() string              { return below(p.dir, ownDir) }
func (p place) record() string           { return below(p.own(), recordName) }
func (p place) copies() string           { return below(p.own(), copiesName) }
func (p place) copiesOf(t string) string { return below(p.copies(), t) }
func (p place) logs() string             { return below(p.own(), logsName) }
func (p place) log(name string) string   { return below(p.logs(), name) }
func (p place) aside(name string) string { return below(p.own(), copiesName+"-"+name) }

// below is the path of a name in a directory. What ".." behind a link means, the system says and not the text.
func below(dir, name string) string {
	if !climbs(dir) {
		return filepath.Join(dir, name)
	}
	const separator = string(filepath.Separator)
	return strings.TrimSuffix(dir, separator) + separator + filepath.Clean(name)
}

// climbs reports whether a path has a "..".
func climbs(path string) bool {
	return slices.Contains(strings.Split(filepath.ToSlash(path), "/"), "..")
}
