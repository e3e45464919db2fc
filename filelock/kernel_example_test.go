package filelock_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/holdfast-go/holdfast/filelock"
)

// A program that must not run twice.
func ExampleInstance() {
	dir, err := os.MkdirTemp("", "instance")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "app.lock")

	running, err := filelock.Instance(path)
	if err != nil {
		panic(err)
	}
	defer running.Release() // or just end

	_, err = filelock.Instance(path) // the second start
	var held *filelock.HeldError
	if errors.As(err, &held) {
		fmt.Println("runs already:", held.Holder.PID == os.Getpid())
	}
	// Output: runs already: true
}

// Readers share the lock, a writer has it alone.
func ExampleShared() {
	dir, err := os.MkdirTemp("", "cache")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	reader := filelock.KernelAt(dir, "cache.lock", filelock.Shared())
	writer := filelock.KernelAt(dir, "cache.lock", filelock.Wait(0))

	err = filelock.Do(context.Background(), reader, func(ctx context.Context, _ filelock.Lease) error {
		second, err := reader.TryAcquire(context.Background())
		if err != nil {
			return err
		}
		defer second.Release()
		_, err = writer.Acquire(context.Background())
		fmt.Println("writer kept out:", errors.Is(err, filelock.ErrHeld))
		return nil
	})
	fmt.Println(err)
	// Output:
	// writer kept out: true
	// <nil>
}
