package pluginrun

import "github.com/holdfast-go/holdfast/internal/sys"

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

func (p place) manifest() string         { return sys.Below(p.dir, manifest) }
func (p place) file(name string) string  { return sys.Below(p.dir, name) }
func (p place) own() string              { return sys.Below(p.dir, ownDir) }
func (p place) record() string           { return sys.Below(p.own(), recordName) }
func (p place) copies() string           { return sys.Below(p.own(), copiesName) }
func (p place) copiesOf(t string) string { return sys.Below(p.copies(), t) }
func (p place) logs() string             { return sys.Below(p.own(), logsName) }
func (p place) log(name string) string   { return sys.Below(p.logs(), name) }
func (p place) aside(name string) string { return sys.Below(p.own(), copiesName+"-"+name) }
