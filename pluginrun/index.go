package pluginrun

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"unicode/utf8"
)

// fileName is a file's name in an index: a string, or where it is no UTF-8, which JSON cannot say, {"base64":"…"}.
type fileName string

type encodedName struct {
	Base64 []byte `json:"base64"`
}

func (n fileName) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(n)) {
		return json.Marshal(string(n))
	}
	return json.Marshal(encodedName{[]byte(n)})
}

func (n *fileName) UnmarshalJSON(text []byte) error {
	if text[0] != '{' {
		return json.Unmarshal(text, (*string)(n))
	}
	var encoded encodedName
	err := json.Unmarshal(text, &encoded)
	*n = fileName(encoded.Base64)
	return err
}

// parseIndex reads an index of copies, and nothing else: what it names is written over and removed.
func parseIndex(data []byte) (*copies, error) {
	var c copies
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrCopies, err)
	}
	if c.Version != copiesVersion {
		return nil, fmt.Errorf("%w: version %d", ErrCopies, c.Version)
	}
	for _, f := range c.Files {
		if !filepath.IsLocal(string(f.Name)) {
			return nil, fmt.Errorf("%w: it names %q", ErrCopies, f.Name)
		}
		if f.Copy == "" {
			continue
		}
		if _, err := strconv.ParseUint(f.Copy, 10, 16); err != nil {
			return nil, fmt.Errorf("%w: a copy is named %q", ErrCopies, f.Copy)
		}
		if mode, err := strconv.ParseUint(f.Mode, 8, 32); err != nil || mode > 0o777 {
			return nil, fmt.Errorf("%w: a mode is %q", ErrCopies, f.Mode)
		}
	}
	return &c, nil
}
