package sys

import (
	"errors"
	"io/fs"
)

func portable(k Kind, target error) bool {
	switch target {
	case fs.ErrExist:
		return k == Exists || k == NotEmpty
	case fs.ErrNotExist:
		return k == NotExist
	case fs.ErrPermission:
		return k == NotPermitted || k == AccessDenied
	case errors.ErrUnsupported:
		return k == Unsupported || k == NoLocks
	}
	return false
}
