//go:build !unix && !windows

package child

// Members knows nothing here.
func (Tree) Members() []Member { return nil }

// Terminate does nothing here.
func (Tree) Terminate(Asked) {}

// Kill does nothing here.
func (Tree) Kill() {}
