package compat_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/holdfast-go/holdfast/compat"
)

// A file is read, changed and replaced under its lock, as a Node program does it with the same names.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "settings.json")

	count, err := compat.WithFileLock(context.Background(), path, func(context.Context) (int, error) {
		settings := map[string]string{}
		old, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(old, &settings)
		}
		if err != nil && compat.Code(err) != "ENOENT" {
			return 0, err
		}
		settings["theme"] = "dark"
		content, err := json.Marshal(settings)
		if err != nil {
			return 0, err
		}
		return len(settings), compat.WriteFileAtomic(path, content, compat.WriteFileAtomicOptions{Mode: 0o600})
	}, compat.FileLockOptions{})
	if err != nil {
		log.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d: %s\n", count, content)
	// Output: 1: {"theme":"dark"}
}

// Code is for a switch on what Node has in error.code.
func ExampleCode() {
	_, err := compat.WithFileLock(context.Background(), filepath.Join("no", "such", "directory", "settings.json"),
		func(context.Context) (int, error) { return 0, nil }, compat.FileLockOptions{WaitMs: new(50)})
	switch compat.Code(err) {
	case "ENOENT":
		fmt.Println("make the directory first")
	case "EACCES", "EPERM":
		fmt.Println("it is another user's")
	}
	// Output: make the directory first
}
