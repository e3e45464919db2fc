//go:build aix || (solaris && !illumos)

package sys

func tryFlock(int, bool) error { return Unsupported }

func unflock(int) error { return Unsupported }
