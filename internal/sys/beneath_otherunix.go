//go:build unix && !linux

package sys

func openBeneath(dir int, path string, flags int, perm uint32) (int, error) {
	return walk(dir, path, flags, perm)
}
