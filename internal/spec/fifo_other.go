//go:build !unix

package spec

import "errors"

func mkfifo(string) error { return errors.ErrUnsupported }
