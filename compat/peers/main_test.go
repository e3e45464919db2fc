//go:build unix

package peers

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// children are what this test binary does when it is started again as another process.
var children = map[string]func(args []string) error{
	"waiter": childWaiter,
	"count":  childCount,
}

const childEnv = "HOLDFAST_TEST_CHILD"

func TestMain(m *testing.M) {
	what := os.Getenv(childEnv)
	if what == "" {
		os.Exit(m.Run())
	}
	if err := children[what](os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func child(what string, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), childEnv+"="+what)
	return cmd
}
