package atomicwrite_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/holdfast-go/holdfast/atomicwrite"
)

func ExampleWriteFile() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "app", "settings.json")

	if err := atomicwrite.WriteFile(path, []byte(`{"theme":"dark"}`), 0o600); err != nil {
		log.Fatal(err)
	}
	data, err := atomicwrite.ReadFile(path)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", data)
	// Output: {"theme":"dark"}
}

func ExampleCreate() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "squares.txt")

	write := func() error {
		w, err := atomicwrite.Create(path, 0o644)
		if err != nil {
			return err
		}
		defer w.Close() // abandons, unless committed
		for n := range 3 {
			if _, err := fmt.Fprintln(w, n*n); err != nil {
				return err
			}
		}
		return w.Commit()
	}
	if err := write(); err != nil {
		log.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s", data)
	// Output:
	// 0
	// 1
	// 4
}

func ExampleUpdate() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "counters.json")

	count := func(name string) error {
		return atomicwrite.Update(context.Background(), path, 0o600, func(old []byte, exists bool) ([]byte, error) {
			counters := map[string]int{}
			if exists {
				if err := json.Unmarshal(old, &counters); err != nil {
					return nil, err // the file stays as it is
				}
			}
			counters[name]++
			return json.Marshal(counters)
		})
	}
	for _, name := range []string{"starts", "errors", "starts"} {
		if err := count(name); err != nil {
			log.Fatal(err)
		}
	}
	data, err := atomicwrite.ReadFile(path)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", data)
	// Output: {"errors":1,"starts":2}
}
