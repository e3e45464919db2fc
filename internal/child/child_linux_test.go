package child

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A program may change its environment before its main begins. What a stub runs must not see that: [TestEnvironment].
func init() {
	if os.Args[0] == stubName {
		os.Setenv("HOLDFAST_TEST_INIT", "1")
	}
}

func TestSignalMask(t *testing.T) {
	eachGate(t, func(t *testing.T) {
		cat := []string{"/bin/cat", "/proc/self/status"}
		shield := []string{"--ignore-signal=HUP", "--block-signal=USR1"}
		want, err := exec.Command("env", append(shield, cat...)...).Output()
		if err != nil {
			t.Skip("env blocks no signals here")
		}
		gate := ownGate
		if !hasGate.Load() {
			gate = shell
		}
		through := append([]string{self(t), "program:through", gate}, cat...)
		got, err := exec.Command("env", append(shield, through...)...).Output()
		require.NoError(t, err)
		for _, key := range []string{"SigBlk:", "SigIgn:"} {
			assert.NotEmpty(t, field(want, key))
			assert.Equal(t, field(want, key), field(got, key), key)
		}
	})
}

func field(status []byte, key string) string {
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, key) {
			return line
		}
	}
	return ""
}

func TestEnviron(t *testing.T) {
	before := Environ()
	assert.Equal(t, os.Environ(), withoutRepeated(before))
	t.Setenv("HOLDFAST_TEST_SET", "1")
	assert.Equal(t, os.Environ(), Environ(), "what this program makes of it counts")

	assert.Equal(t, []string{"A=1", "B", "B", "=x", "C="}, withoutRepeated([]string{"A=1", "B", "A=2", "", "B", "=x", "=y", "C=", "A=1"}))
}
