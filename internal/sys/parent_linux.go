package sys

// Parent is the parent of a process; 0 if unknown.
func Parent(pid int) int {
	if !procIsOurs() {
		return 0
	}
	fields, err := statFields(pid)
	if err != nil {
		return 0
	}
	return fields.number(statParent)
}
