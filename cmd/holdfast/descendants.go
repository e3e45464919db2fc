package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/child"
	"github.com/holdfast-go/holdfast/internal/sys"
)

// descendants are what CMD started: on Linux this process inherits those that CMD leaves behind, so that they can be found.
type descendants struct {
	inherited bool
	before    map[int]bool // what this process had before CMD
}

// watchDescendants must be called before CMD is started.
func watchDescendants() *descendants {
	if sys.BecomeReaper() != nil {
		return &descendants{}
	}
	d := &descendants{true, map[int]bool{}}
	for _, m := range d.members(nil) {
		d.before[m.PID] = true
	}
	return d
}

// awaitEnd returns when CMD has ended, and leaves it unreaped; an error says nothing of CMD. What it left behind meanwhile is
// reaped as it ends.
func (d *descendants) awaitEnd(command *child.Child) error {
	for d.inherited {
		pid, err := sys.EndedChild()
		switch {
		case err != nil:
			d.inherited = false
		case pid == command.PID():
			return nil
		default:
			sys.Reap(pid)
		}
	}
	return command.Wait()
}

// members are the live processes that CMD has left behind, once it is reaped.
func (d *descendants) members(command *child.Child) (left []child.Member) {
	tree := child.Tree{Child: command}
	if d.inherited {
		if !sys.HasChildren() { // which spares us the list of all processes
			return nil
		}
		if _, err := sys.Processes(); err != nil {
			return nil
		}
		tree.Root = os.Getpid()
	}
	members, err := tree.Members()
	if err != nil {
		return nil
	}
	for _, m := range members {
		if !d.before[m.PID] {
			left = append(left, m)
		}
	}
	return left
}

// Whoever ends together with CMD, as by Ctrl-C, has so long to do so before it counts as left behind.
const (
	endingTogether = 100 * time.Millisecond
	lookAgain      = 10 * time.Millisecond
)

// warnOfOthers names what CMD has left behind.
func (g *gated) warnOfOthers(c *call) {
	if c.quiet {
		return
	}
	left := g.others.members(g.Child)
	for waited := time.Duration(0); len(left) > 0 && waited < endingTogether; waited += lookAgain {
		time.Sleep(lookAgain)
		left = g.others.members(g.Child)
	}
	if len(left) > 0 {
		c.say("%s has ended and left behind %s: the lock is released all the same", shortened(g.name, 40), listed(left))
	}
}

// mostNamed is how many processes one message names.
const mostNamed = 3

func listed(members []child.Member) string {
	var names []string
	for _, m := range members[:min(len(members), mostNamed)] {
		name := fmt.Sprintf("PID %d", m.PID)
		if m.Command != "" {
			name += " (" + shortened(m.Command, 30) + ")"
		}
		names = append(names, name)
	}
	text := strings.Join(names, ", ")
	if more := len(members) - mostNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
