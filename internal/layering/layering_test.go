package layering

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// recorder is a test whose failures are counted instead of reported.
type recorder struct {
	testing.TB
	failures []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{
			name:  "the seam's files may",
			files: map[string]string{"os_unix.go": "os", "os_windows.go": "golang.org/x/sys/windows"},
		},
		{
			name:  "tests may",
			files: map[string]string{"a.go": "io/fs", "a_test.go": "os"},
		},
		{
			name:  "others may not, whatever their system",
			files: map[string]string{"a.go": "os", "b_windows.go": "syscall", "os.go": "golang.org/x/sys/unix", "c.go": "os/exec"},
			want: []string{
				`a.go imports "os": only os_*.go may`,
				`b_windows.go imports "syscall": only os_*.go may`,
				`c.go imports "os/exec": only os_*.go may`,
				`os.go imports "golang.org/x/sys/unix": only os_*.go may`,
			},
		},
		{
			name:  "names that only begin alike are no matter",
			files: map[string]string{"a.go": "osx", "b.go": "golang.org/x/sysinfo", "c.go": "example.org/m/internal/sys"},
		},
		{
			name:  "nothing to check",
			files: map[string]string{"a_test.go": "io"},
			want:  []string{"no production files in DIR"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, path := range c.files {
				src := fmt.Sprintf("package p\n\nimport _ %q\n", path)
				require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(src), 0o644))
			}
			r := &recorder{TB: t}
			Check(r, dir)
			for i, want := range c.want {
				if want == "no production files in DIR" {
					c.want[i] = "no production files in " + dir
				}
			}
			assert.Equal(t, c.want, r.failures)
		})
	}
}
