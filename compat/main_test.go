package compat

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/atomicwrite"
	"github.com/holdfast-go/holdfast/internal/layering"
	"github.com/holdfast-go/holdfast/internal/testenv"
)

const childEnv = "COMPAT_TEST_CHILD"

// children are what this binary does in a process of its own. What they return is printed.
var children = map[string]func(args []string) string{}

func TestMain(m *testing.M) {
	if what := os.Getenv(childEnv); what != "" {
		fmt.Print(children[what](os.Args[1:]))
		os.Exit(0)
	}
	os.Exit(testenv.Run(m))
}

func TestLayering(t *testing.T) { layering.Check(t, ".") }

// request is one call for the Node process of [node].
type request struct {
	Call  string `json:"call"`
	Args  []any  `json:"args,omitempty"`
	Umask *int   `json:"umask,omitempty"`
	UID   int    `json:"uid,omitempty"`
}

// answer is how a call ended in Node: with a value, or with an error that may have a code.
type answer struct {
	Value   any    `json:"value"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// node is a process of Node's that does one call after the other.
type node struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Scanner
}

func startNode(t *testing.T) *node {
	t.Helper()
	return startNodeAs(t, exec.Command("node", filepath.Join(testenv.Node(t), "errors.mjs")))
}

func startNodeAs(t *testing.T, cmd *exec.Cmd) *node {
	t.Helper()
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		in.Close()
		require.NoError(t, cmd.Wait())
	})
	return &node{t, in, bufio.NewScanner(out)}
}

func (n *node) do(r request) (a answer) {
	n.t.Helper()
	line, err := json.Marshal(r)
	require.NoError(n.t, err)
	_, err = n.in.Write(append(line, '\n'))
	require.NoError(n.t, err)
	require.True(n.t, n.out.Scan(), "Node ended")
	require.NoError(n.t, json.Unmarshal(n.out.Bytes(), &a))
	return a
}

func (n *node) call(name string, args ...any) answer {
	n.t.Helper()
	return n.do(request{Call: name, Args: args})
}

func put(t *testing.T, path, content string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
}

// contentOf is a file's content. On Windows a lock cannot be read in another way while it is held.
func contentOf(t *testing.T, path string) string {
	t.Helper()
	content, err := atomicwrite.ReadFile(path)
	require.NoError(t, err)
	return string(content)
}

// names are all entries of dir.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	found := []string{}
	for _, e := range entries {
		found = append(found, e.Name())
	}
	return found
}
