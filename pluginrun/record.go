package pluginrun

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
)

// The record's longest size in bytes that is read; ours is about 40.
const longestRecord = 4096

// maxPID is the largest process number.
const maxPID = 1<<31 - 1

// maxSafeInteger is the largest whole number that Node tells from its neighbours.
const maxSafeInteger = 1<<53 - 1

// recordedRun is what a run record says.
type recordedRun struct {
	pid     int64
	grouped bool // pid leads a process group of its own
}

// append adds the record's exact bytes to b.
func (r recordedRun) append(b []byte) []byte {
	return fmt.Appendf(b, "{\"pid\":%d,\"grouped\":%t}\n", r.pid, r.grouped)
}

// parseRecord reads a record as Node does: any JSON object whose pid is a positive safe integer and whose grouped is a
// boolean; other keys are left alone, of equal keys the last counts, and the case of a key matters. why says what is wrong
// with one that names no run.
func parseRecord(data []byte) (r recordedRun, why string) {
	var object map[string]json.RawMessage
	if len(data) > longestRecord {
		return recordedRun{}, fmt.Sprintf("it is longer than %d bytes", longestRecord)
	}
	if err := json.Unmarshal(data, &object); err != nil || object == nil {
		return recordedRun{}, "it is not a JSON object"
	}
	var pid float64
	if err := json.Unmarshal(object["pid"], &pid); err != nil || isNull(object["pid"]) {
		return recordedRun{}, "its pid is not a number"
	}
	if pid < 1 || pid > maxSafeInteger || pid != math.Trunc(pid) {
		return recordedRun{}, "its pid is not a positive whole number"
	}
	if err := json.Unmarshal(object["grouped"], &r.grouped); err != nil || isNull(object["grouped"]) {
		return recordedRun{}, "its grouped is not true or false"
	}
	r.pid = int64(pid)
	return r, ""
}

// isNull tells a value that package json leaves out of the destination.
func isNull(value json.RawMessage) bool { return bytes.Equal(value, []byte("null")) }
