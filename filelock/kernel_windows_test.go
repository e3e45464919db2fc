package filelock

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A lock file that somebody has open stays.
func TestKernelFileCannotBeTakenAway(t *testing.T) {
	path := kernelFile(t)
	l := mustKernel(t, path)
	assert.Error(t, os.Remove(path))
	assert.Error(t, os.Rename(path, path+".old"))
	require.NoError(t, l.Release())
	assert.NoError(t, os.Remove(path))
}
