package filelock

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/holdfast-go/holdfast/internal/oneline"
	"github.com/holdfast-go/holdfast/internal/sys"
)

// kernelPath says where a kernel lock's file is, as it was asked for.
type kernelPath struct {
	root, path string
	beneath    bool // below root; otherwise path stands alone
}

// place makes the path independent of the working directory: of a root, which is empty without one, and below it.
func (k kernelPath) place(s kernelSystem) (root, path string, err error) {
	if _, _, err := split(k.path); err != nil {
		return "", "", err
	}
	if !k.beneath {
		path, err := s.absolute(k.path)
		if err != nil {
			return "", "", &Error{"find the lock file from here", k.path, err}
		}
		return "", path, nil
	}
	if k.root == "" || strings.ContainsRune(k.root, 0) {
		return "", "", fmt.Errorf("%q: %w", k.root, ErrInvalidPath)
	}
	if !filepath.IsLocal(k.path) {
		return "", "", &UnsafePathError{Path: k.path, Found: "it leaves " + oneline.Path(k.root)}
	}
	if root, err = s.absolute(k.root); err != nil {
		return "", "", &Error{"find the lock file's root from here", k.root, err}
	}
	return root, filepath.Clean(k.path), nil
}

// below is the path of a name in a directory. The directory stays as it was said: what ".." behind a link means is the file
// system's to say.
func below(dir, name string) string {
	if strings.HasSuffix(dir, "/") || strings.HasSuffix(dir, string(filepath.Separator)) {
		return dir + name
	}
	return dir + string(filepath.Separator) + name
}

// unsafeFile says what makes a file one that must not be locked; nil if nothing does.
func unsafeFile(path string, info sys.Info) error {
	switch {
	case !info.Regular():
		return &UnsafePathError{Path: path, Found: "it is " + kindOfFile(info.Mode)}
	case info.Links > 1:
		return &UnsafePathError{Path: path, Found: fmt.Sprintf("it has %d names: a write would change what the others are for", info.Links)}
	}
	return nil
}

// unsafeFound looks for what a refused open met: a link below the root or something else than a file in the last place.
func unsafeFound(s kernelSystem, root, path, full string) error {
	if root != "" {
		for at := root; ; {
			name, rest, more := strings.Cut(path, string(filepath.Separator))
			if !more {
				break
			}
			at, path = below(at, name), rest
			info, err := s.lstat(at)
			if err != nil {
				return nil
			}
			if !info.Mode.IsDir() {
				return &UnsafePathError{Path: full, Found: oneline.Path(at) + " is " + kindOfFile(info.Mode)}
			}
		}
	}
	if info, err := s.lstat(full); err == nil && !info.Regular() {
		return unsafeFile(full, info)
	}
	return nil
}
