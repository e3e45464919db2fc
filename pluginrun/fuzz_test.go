package pluginrun

import (
	"encoding/json"
	"testing"
)

// What is read as a record is what would be written, and Node would agree that it names a run.
func FuzzRecord(f *testing.F) {
	f.Add([]byte("{\"pid\":4242,\"grouped\":true}\n"))
	f.Add([]byte(`{"grouped":false,"pid":1e3,"pid":7}`))
	f.Add([]byte(`{"pid":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, why := parseRecord(data)
		if why != "" {
			return
		}
		if r.pid < 1 || r.pid > maxSafeInteger || !json.Valid(data) {
			t.Errorf("%q names %d", data, r.pid)
		}
		again, why := parseRecord(r.append(nil))
		if why != "" || again != r {
			t.Errorf("%q became %+v, %s", data, again, why)
		}
	})
}

// An index names files in the profile and copies beside itself, nothing else.
func FuzzIndex(f *testing.F) {
	f.Add([]byte(`{"version":1,"files":[{"name":"package.json","copy":"0","mode":"0644"},{"name":"pnpm-lock.yaml"}]}`))
	f.Add([]byte(`{"version":1,"files":[{"name":"../x"}]}`))
	f.Add([]byte(`{"version":1,"files":[{"name":{"base64":"cP8="},"copy":"0","mode":"0644","link":{"base64":"bP8="}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := parseIndex(data)
		if err != nil {
			return
		}
		again, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parseIndex(again); err != nil {
			t.Errorf("%q became %q: %v", data, again, err)
		}
	})
}
