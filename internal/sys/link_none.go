//go:build aix || solaris

package sys

// Link is [Unsupported] here: there is no call relative to an open directory.
func (d *Dir) Link(string, string) error { return Unsupported }
