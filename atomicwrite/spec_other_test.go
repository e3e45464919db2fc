//go:build !unix

package atomicwrite

func setUmask(int) {}
