//go:build unix

package pluginrun

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testenv"
)

// Two processes add at once: one after the other, so that neither is lost.
func TestTwoAddsAtOnce(t *testing.T) {
	eachManager(t, func(t *testing.T, m manager) {
		one, two := m.pkg("one"), m.pkg("two")
		for range 10 {
			dir := m.profile("")
			first := m.order(order{Dir: dir, Args: m.add(one)})
			second := m.order(order{Dir: dir, Args: m.add(two)})
			for _, c := range []*ordered{first, second} {
				r := c.done()
				r.succeeded(t)
				assert.Nil(t, r.Result.Leftover)
			}
			require.Equal(t, []string{"one", "two"}, dependencies(t, dir))
			for _, name := range []string{"one", "two"} {
				assert.Contains(t, read(t, filepath.Join(dir, m.lockfile())), "packages/"+name)
				assert.FileExists(t, filepath.Join(dir, "node_modules", name, manifest))
			}
			nothingLeft(t, dir)
		}
	})
}

// A lifecycle script that runs the manager in the same profile through us is told, instead of waiting for what waits for it.
func TestManagerInALifecycleScript(t *testing.T) {
	eachManager(t, func(t *testing.T, m manager) {
		dir := m.profile("")
		line, err := json.Marshal(order{Dir: dir, Program: m.program(), Args: []string{"install"}})
		require.NoError(t, err)
		script := fmt.Sprintf("%s=order '%s' '%s' >nested.txt\n", childEnv, os.Args[0], line)
		write(t, filepath.Join(dir, "script.sh"), script)
		write(t, filepath.Join(dir, manifest), `{"name":"profile","version":"1.0.0","scripts":{"preinstall":"sh script.sh"}}`)
		m.order(order{Dir: dir, Args: []string{"install"}}).done().succeeded(t)
		var nested report
		said, found := strings.CutPrefix(read(t, filepath.Join(dir, "nested.txt")), "done ")
		require.True(t, found, said)
		require.NoError(t, json.Unmarshal([]byte(said), &nested))
		assert.True(t, nested.Reentrant, nested.Error)
		assert.Nil(t, nested.Result)
		assert.Contains(t, nested.Error, dir)
		assert.Less(t, nested.Took, DefaultLeftoverWait, "it waited for itself")
		nothingLeft(t, dir)
	})
}

// pnpm asks before it removes what another pnpm has installed: with nobody there it gives up, unless CI is set.
func TestQuestionOfPnpm(t *testing.T) {
	t.Parallel()
	older, newer := newManager(t, "pnpm10"), newManager(t, "pnpm12")
	dir := newer.profile("")
	newer.order(order{Dir: dir, Args: newer.add(newer.pkg("one"))}).done().succeeded(t)

	alone := exec.Command(filepath.Join(older.home, "bin", "pnpm"), "install")
	alone.Dir, alone.Env = dir, older.env
	out, err := alone.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "NO_TTY", "the case is none any more")

	r := older.order(order{Dir: dir, Args: []string{"install"}}).done()
	r.succeeded(t)
	assert.Contains(t, string(r.Result.Tail), "Recreating")
	nothingLeft(t, dir)
}

// Without its install script, pnpm 12 is a script that names no interpreter.
func TestPlaceholderOfPnpm(t *testing.T) {
	t.Parallel()
	m := newManager(t, "pnpm12")
	placeholder := filepath.Join(filepath.Dir(testenv.Pnpm(t, "pnpm12")), "..", "pnpm")
	require.False(t, strings.HasPrefix(read(t, placeholder), "#!"), "the case is none any more")
	dir := m.profile("")
	m.order(order{Dir: dir, Program: placeholder, Args: m.add(m.pkg("one"))}).done().succeeded(t)
	assert.Equal(t, []string{"one"}, dependencies(t, dir))
	nothingLeft(t, dir)
}

// npm asks whoever has its standard input, which is not ours.
func TestQuestionOfNpm(t *testing.T) {
	t.Parallel()
	m := newManager(t, "npm")
	dir := m.profile("")
	before := contents(t, dir)
	r := m.order(order{Dir: dir, Args: []string{"init"}}).done()
	require.Empty(t, r.Error)
	assert.Contains(t, string(r.Result.Tail), "package name:")
	assert.NotZero(t, r.Result.ExitCode)
	assert.Equal(t, before, contents(t, dir))
	nothingLeft(t, dir)
}

// Variables that a shell does not carry reach what the manager executes.
func TestVariablesOfAManager(t *testing.T) {
	want := map[string]string{
		"npm_config_//registry.invalid/:_authToken": "a secret=",
		"A-B":       "a-b",
		"TWO_LINES": "one\ntwo\n",
	}
	eachManager(t, func(t *testing.T, m manager) {
		for name, value := range want {
			m.env = append(m.env, name+"="+value)
		}
		if m.name == "npm" { // it executes by way of a shell
			bash, err := exec.LookPath("bash")
			if err != nil {
				t.Skip("no bash: other shells drop such names")
			}
			m.env = append(m.env, "npm_config_script_shell="+bash)
		}
		dir := m.profile("")
		const print = "require('fs').writeFileSync('env.json', JSON.stringify(process.env))"
		m.order(order{Dir: dir, Args: []string{"exec", "--", "node", "-e", print}}).done().succeeded(t)
		var found map[string]string
		require.NoError(t, json.Unmarshal([]byte(read(t, filepath.Join(dir, "env.json"))), &found))
		for name, value := range want {
			assert.Equal(t, value, found[name], name)
		}
		assert.Equal(t, "1", found["CI"])
		assert.NotEmpty(t, found[Variable])
	})
}

// A failing install leaves the files as they were, and those that were missing missing; its exit code is data.
func TestFailingInstall(t *testing.T) {
	const spoil = `[ -e fail ] || exit 0
for f in package.json pnpm-lock.yaml package-lock.json pnpm-workspace.yaml; do echo spoiled >>$f; chmod 604 $f; done
exit 1
`
	eachManager(t, func(t *testing.T, m manager) {
		dir := m.profile(spoil)
		_, err := m.runner(dir).Run(context.Background(), m.add(m.pkg("one"))...)
		require.NoError(t, err)
		require.Equal(t, []string{"one"}, dependencies(t, dir))
		require.NoError(t, os.Chmod(filepath.Join(dir, m.lockfile()), 0o664))
		before := contents(t, dir)
		run := func(args ...string) *Result {
			r, err := m.runner(dir).Run(context.Background(), args...)
			require.NoError(t, err)
			assert.Equal(t, before, contents(t, dir), "%v", args)
			nothingLeft(t, dir)
			return r
		}
		r := run(m.verb(), "nowhere", "--offline")
		assert.Equal(t, 1, r.ExitCode, "%s", r.Tail)

		write(t, filepath.Join(dir, "fail"), "")
		r = run("install")
		assert.Equal(t, 1, r.ExitCode, "%s", r.Tail)
		assert.Equal(t, restored, r.Restored)

		require.NoError(t, os.Remove(filepath.Join(dir, "fail")))
		r = run("install")
		assert.Zero(t, r.ExitCode, "%s", r.Tail)
	})
}
