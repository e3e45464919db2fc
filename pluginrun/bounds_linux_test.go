package pluginrun

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func init() { children["loud"] = childLoud }

const loud = 100 << 20

// childLoud DIR: a run that prints 100 MB; it prints its own peak of memory in kB.
func childLoud(args []string) error {
	r, err := New(args[0], Program("sh")).Run(context.Background(), "-c", fmt.Sprintf("head -c %d /dev/zero; echo end", loud))
	if err != nil {
		return err
	}
	info, err := os.Stat(r.Log)
	if err != nil {
		return err
	}
	if info.Size() != loud+4 || len(r.Tail) != DefaultTail || string(r.Tail[DefaultTail-4:]) != "end\n" || !r.TailCut {
		return fmt.Errorf("log of %d bytes, tail of %d", info.Size(), len(r.Tail))
	}
	status, err := os.ReadFile("/proc/self/status")
	fmt.Printf("%s\n", regexp.MustCompile(`VmHWM:\s+(\d+)`).FindSubmatch(status)[1])
	return err
}

// However much a program prints, the manager's memory stays small; the log has all of it.
func TestMuchOutput(t *testing.T) {
	out, err := command("loud", profile(t)).CombinedOutput()
	require.NoError(t, err, "%s", out)
	peak, err := strconv.Atoi(string(regexp.MustCompile(`^\d+`).Find(out)))
	require.NoError(t, err, "%s", out)
	t.Logf("peak %d kB", peak)
	assert.Less(t, peak, 64<<10, "kB")
}
