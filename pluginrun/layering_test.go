package pluginrun

import (
	"testing"

	"github.com/holdfast-go/holdfast/internal/layering"
)

func TestLayering(t *testing.T) { layering.Check(t, ".") }
