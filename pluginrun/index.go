package pluginrun

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
)

// parseIndex reads an index of copies, and nothing else: what it names is written over and removed.
func parseIndex(data []byte) (*copies, error) {
	var c copies
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return nil, fmt.Errorf("%w: %v", errNoIndex, err)
	}
	if c.Version != copiesVersion {
		return nil, fmt.Errorf("%w: version %d", errNoIndex, c.Version)
	}
	for _, f := range c.Files {
		if !filepath.IsLocal(f.Name) {
			return nil, fmt.Errorf("%w: it names %q", errNoIndex, f.Name)
		}
		if f.Copy == "" {
			continue
		}
		if _, err := strconv.ParseUint(f.Copy, 10, 16); err != nil {
			return nil, fmt.Errorf("%w: a copy is named %q", errNoIndex, f.Copy)
		}
		if mode, err := strconv.ParseUint(f.Mode, 8, 32); err != nil || mode > 0o777 {
			return nil, fmt.Errorf("%w: a mode is %q", errNoIndex, f.Mode)
		}
	}
	return &c, nil
}
