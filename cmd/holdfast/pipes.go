package main

import (
	"io"
	"os"
	"sync"

	"github.com/holdfast-go/holdfast/internal/child"
)

// pipes are the ends of CMD's standard streams that we serve. That CMD has ended does not end them: what it left behind may
// go on with them.
type pipes struct {
	theirs []*os.File
	ours   []*os.File
	serve  []func()
}

// feed gives CMD what from has on standard input.
func (p *pipes) feed(cmd *child.Spec, from io.Reader) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd.Files[0] = r
	p.add(r, w, func() { _, _ = io.Copy(w, from) }) // whoever does not read it all need not
	return nil
}

// drain gives to what CMD prints.
func (p *pipes) drain(cmd *child.Spec, to io.Writer) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd.Files[1] = w
	p.add(w, r, func() { _, _ = io.Copy(to, r) })
	return nil
}

func (p *pipes) add(theirs, ours *os.File, serve func()) {
	p.theirs = append(p.theirs, theirs)
	p.ours = append(p.ours, ours)
	p.serve = append(p.serve, func() {
		defer ours.Close()
		serve()
	})
}

// started is called when CMD has been, or could not be. The result is closed when all is served.
func (p *pipes) started() (done <-chan struct{}) {
	for _, f := range p.theirs {
		f.Close()
	}
	var all sync.WaitGroup
	for _, serve := range p.serve {
		all.Go(serve)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		all.Wait()
	}()
	return over
}

func (p *pipes) close() {
	for _, f := range p.ours {
		f.Close()
	}
}
