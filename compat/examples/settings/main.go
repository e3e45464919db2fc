// Command settings sets one key of a JSON settings file, which Node programs may change at the same time:
//
//	settings FILE KEY VALUE
//
// The file is made if it is missing. testdata/node/settings.mjs is the same in Node.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"

	"github.com/holdfast-go/holdfast/compat"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: settings FILE KEY VALUE")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	keys, err := compat.WithFileLock(ctx, os.Args[1], func(context.Context) (int, error) {
		return set(os.Args[1], os.Args[2], os.Args[3])
	}, compat.FileLockOptions{})
	if err != nil {
		fmt.Fprintln(os.Stderr, "settings:", err)
		stop()
		os.Exit(1)
	}
	fmt.Println(keys)
}

// set gives key its value and returns how many keys there are afterwards. Its caller holds the file's lock.
func set(path, key, value string) (int, error) {
	settings := map[string]any{}
	old, err := os.ReadFile(path)
	switch {
	case compat.Code(err) == "ENOENT":
	case err != nil:
		return 0, err
	default:
		if err := json.Unmarshal(old, &settings); err != nil {
			return 0, fmt.Errorf("%s: %w", path, err)
		}
		if settings == nil {
			return 0, fmt.Errorf("%s: null is no object of settings", path)
		}
	}
	settings[key] = value
	content, err := json.MarshalIndent(settings, "", "  ")
	if err != nil {
		return 0, err
	}
	return len(settings), compat.WriteFileAtomic(path, append(content, '\n'), compat.WriteFileAtomicOptions{Mode: 0o600})
}
