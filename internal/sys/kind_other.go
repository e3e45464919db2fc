//go:build !unix && !windows

package sys

func errnoKind(error) Kind { return Other }
