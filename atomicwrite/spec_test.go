package atomicwrite

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/spec"
	"github.com/holdfast-go/holdfast/internal/sys"
)

func init() { children["spec call"] = childSpecCall }

func TestSpecTempNames(t *testing.T) {
	type row struct {
		spec.Case
		Base string          `json:"base"`
		Want string          `json:"want"`
		Node json.RawMessage `json:"node"`
	}
	random := [tempRandom]byte{0x00, 0x1f, 0xa0, 0xff, 0x10, 0x09}
	spec.Run(t, "temp-names.json", func(t *testing.T, c row) {
		got := tempName(c.Base, random, longestName, byteLength)
		assert.Equal(t, strings.Replace(c.Want, "{random}", "001fa0ff1009", 1), got)
		assert.LessOrEqual(t, len(got), longestName)
	})
}

// specCall is one replacement. It is made in a process of its own: the umask belongs to the whole process.
type specCall struct {
	Path    string `json:"path"`
	Content string `json:"content"`
	Mode    octal  `json:"mode"`
	DirMode *octal `json:"dirMode"`
	Umask   octal  `json:"umask"`
}

type octal fs.FileMode

func (o *octal) UnmarshalText(text []byte) error {
	mode, err := strconv.ParseUint(string(text), 8, 9)
	*o = octal(mode)
	return err
}

func (o octal) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%o", o), nil }

func TestSpecWrite(t *testing.T) {
	type row struct {
		spec.Case
		Before spec.Tree `json:"before"`
		Call   specCall  `json:"call"`
		Want   struct {
			Error string    `json:"error"`
			After spec.Tree `json:"after"`
		} `json:"want"`
		Node json.RawMessage `json:"node"`
	}
	spec.Run(t, "write.json", func(t *testing.T, c row) {
		dir := shortDir(t)
		c.Before.Make(t, dir)
		call, err := json.Marshal(c.Call)
		require.NoError(t, err)
		out, err := child(t, "spec call", dir, string(call)).Output()
		require.NoError(t, err)
		assert.Equal(t, c.Want.Error, string(out))
		c.Want.After.Check(t, dir)
	})
}

// childSpecCall DIR CALL: prints the code of the error, if there is one.
func childSpecCall(args []string) error {
	var c specCall
	if err := json.Unmarshal([]byte(args[1]), &c); err != nil {
		return err
	}
	opts := []Option{Sync(SyncNone)}
	if c.DirMode != nil {
		opts = append(opts, ParentMode(fs.FileMode(*c.DirMode)))
	}
	setUmask(int(c.Umask))
	err := WriteFile(filepath.Join(args[0], filepath.FromSlash(c.Path)), []byte(c.Content), fs.FileMode(c.Mode), opts...)
	fmt.Print(codeOf(err))
	return nil
}

func codeOf(err error) string {
	if err == nil {
		return ""
	}
	for code, kind := range map[string]error{
		"EISDIR": ErrIsDirectory, "ENOTDIR": sys.NotDirectory, "EEXIST": fs.ErrExist, "ENAMETOOLONG": ErrNameTooLong,
		"not a regular file": ErrIrregular,
	} {
		if errors.Is(err, kind) {
			return code
		}
	}
	return err.Error()
}
