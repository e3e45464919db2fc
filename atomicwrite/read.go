package atomicwrite

import (
	"slices"

	"github.com/holdfast-go/holdfast/internal/sys"
)

func readFile(s system, path string) ([]byte, error) {
	var data []byte
	err := persist(s, func() error {
		f, err := s.openFile(path)
		if err != nil {
			return err
		}
		defer f.Close()
		data, err = readAll(f)
		return err
	})
	if err != nil {
		return nil, &Error{Op: opRead, Path: path, Err: err}
	}
	return data, nil
}

// readAll reads f to its end, however much it said it has: files below /proc say 0.
func readAll(f file) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Mode.IsDir() {
		return nil, sys.IsDirectory
	}
	const least, most = 512, 1 << 30
	data := make([]byte, 0, min(info.Size+1, most)+least)
	for {
		data = slices.Grow(data, least)
		n, err := f.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return data, nil
		}
	}
}
