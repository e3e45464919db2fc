package sys

// Parent is the parent of a process; 0 if unknown.
func Parent(pid int) int {
	if !procIsOurs() {
		return 0
	}
	fields := statFields(pid)
	const parent = 4 - 3
	if len(fields) <= parent {
		return 0
	}
	return number(fields[parent])
}
