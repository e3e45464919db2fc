package pluginrun

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/holdfast-go/holdfast/internal/spec"
)

func TestSpecRunRecords(t *testing.T) {
	type run struct {
		PID     int64 `json:"pid"`
		Grouped bool  `json:"grouped"`
	}
	type row struct {
		spec.Case
		Run   *run            `json:"run"` // to be written
		Bytes spec.Bytes      `json:"bytes"`
		Want  json.RawMessage `json:"want"`
		Node  json.RawMessage `json:"node"`
	}
	spec.Run(t, "run-records.json", func(t *testing.T, c row) {
		if c.Run != nil {
			written, err := json.Marshal(string(recordedRun{c.Run.PID, c.Run.Grouped}.append(nil)))
			assert.NoError(t, err)
			assert.JSONEq(t, string(c.Want), string(written))
			return
		}
		var found *run
		r, why := parseRecord(c.Bytes)
		if why == "" {
			found = &run{r.pid, r.grouped}
		}
		read, err := json.Marshal(found)
		assert.NoError(t, err)
		assert.JSONEq(t, string(c.Want), string(read))
	})
}
