package filelock

// NamedAt is a named lock of the current user that lies in the directory place, where the system's named locks are files.
func NamedAt(place, name string, opts ...Option) Locker {
	return namedLocker{machineAt(place), kernelLocks, name, CurrentUser, newOptions(opts)}
}
