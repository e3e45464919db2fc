//go:build !unix && !windows

package compat

// systemCode is empty: what the other packages do is not supported here, and has no error number of the system's.
func systemCode(error) string { return "" }
