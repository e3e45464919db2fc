package atomicwrite

import (
	"io/fs"
	"maps"
	"slices"

	"github.com/holdfast-go/holdfast/internal/sys"
)

// node is an inode; only a directory has entries. Files grow, and are not written over.
type node struct {
	id      uint64
	link    string
	data    []byte
	history []version
	synced  int // its version at its last sync

	entries map[string]*node
	durable map[string]*node // entries at the last sync
	journal []change         // since then
}

type version struct {
	size int
	mode fs.FileMode
}

// change gives a node a name, instead of the name that it had and of the node that had it; without a node it takes from away.
type change struct {
	from, to string
	node     *node
	version  int
}

func (c change) apply(entries map[string]*node) {
	delete(entries, c.from)
	if c.node != nil {
		entries[c.to] = c.node
	}
}

func (n *node) now() version { return n.history[len(n.history)-1] }

func (n *node) enter(from, to string, what *node) {
	c := change{from: from, to: to, node: what}
	if what != nil {
		c.version = len(what.history) - 1
	}
	c.apply(n.entries)
	n.journal = append(n.journal, c)
}

func (n *node) append(p []byte) {
	n.data = append(slices.Clip(n.data), p...)
	n.history = append(n.history, version{len(n.data), n.now().mode})
}

func (n *node) sync() {
	n.synced = len(n.history) - 1
	n.durable, n.journal = maps.Clone(n.entries), nil
}

func (n *node) list(prefix string, files map[string]*node) {
	for name, entry := range n.entries {
		if entry.entries == nil {
			files[prefix+name] = entry
		}
		entry.list(prefix+name+"/", files)
	}
}

func (n *node) info() sys.Info {
	return sys.Info{ID: sys.FileID{Dev: 1, Ino: n.id}, Mode: n.now().mode, Size: int64(len(n.data)), Links: 1}
}

// outcomes are the disks that a power cut at this moment can leave.
func (d *disk) outcomes() (all []*disk) {
	for _, root := range d.root.outcomes(d.ordered, 0) {
		all = append(all, &disk{root: root, ordered: d.ordered, umask: d.umask, made: d.made})
	}
	return all
}

// outcomes are the inodes that a power cut can leave of n if its name is known to have survived with n's version least.
func (n *node) outcomes(ordered bool, least int) (all []*node) {
	if n.entries != nil {
		return n.listings(ordered)
	}
	least = max(least, n.synced)
	seen := map[version]bool{}
	for _, v := range n.history[least:] {
		for size := n.history[least].size; size <= len(n.data); size++ {
			left := version{size, v.mode}
			if !seen[left] {
				seen[left] = true
				all = append(all, &node{id: n.id, link: n.link, data: n.data[:size], history: []version{left}})
			}
		}
	}
	return all
}

// listings are the outcomes of a directory.
func (n *node) listings(ordered bool) (all []*node) {
	entries, least := maps.Clone(n.durable), map[*node]int{}
	for survived := 0; ; survived++ {
		all = append(all, n.combined(entries, ordered, least)...)
		if survived == len(n.journal) {
			return all
		}
		c := n.journal[survived]
		c.apply(entries)
		if ordered {
			least[c.node] = c.version
		}
	}
}

// combined are the directories with these names and every combination of what can be left of the named files.
func (n *node) combined(names map[string]*node, ordered bool, least map[*node]int) []*node {
	listings := []map[string]*node{{}}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		var longer []map[string]*node
		for _, l := range listings {
			for _, left := range names[name].outcomes(ordered, least[names[name]]) {
				with := maps.Clone(l)
				with[name] = left
				longer = append(longer, with)
			}
		}
		listings = longer
	}
	var all []*node
	for _, l := range listings {
		all = append(all, &node{id: n.id, history: n.history[len(n.history)-1:], entries: l, durable: maps.Clone(l)})
	}
	return all
}
