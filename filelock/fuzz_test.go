package filelock

import (
	"crypto/sha256"
	"fmt"
	"math/big"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/holdfast-go/holdfast/internal/oneline"
)

// The grammar of a record, told apart from the parser by other means.
func FuzzRecord(f *testing.F) {
	for _, s := range []string{"4242\n", "0042\n", "2147483647\n", "2147483648\n", "", "12", "12\r\n", "\ufeff12\n", "-5\n", "0\n", strings.Repeat("9", 70)} {
		f.Add([]byte(s))
	}
	grammar := regexp.MustCompile(`\A[0-9]+\n\z`)
	f.Fuzz(func(t *testing.T, b []byte) {
		want, ok := new(big.Int), false
		if grammar.Match(b) && len(b) <= 64 {
			want.SetString(strings.TrimSuffix(string(b), "\n"), 10)
			ok = want.Sign() > 0 && want.Cmp(big.NewInt(maxPID)) <= 0
		}
		pid, got := parseRecord(b)
		if got != ok || ok && want.Int64() != int64(pid) {
			t.Errorf("%q: %d, %v; want %v, %v", b, pid, got, want, ok)
		}
		if ok && len(appendRecord(nil, pid)) > len(b) {
			t.Errorf("%q is shorter than the record of %d", b, pid)
		}
		if text := describeBytes(b); strings.ContainsFunc(text, unicode.IsControl) || len(text) > 200 {
			t.Errorf("%q", text)
		}
	})
}

func FuzzClaimName(f *testing.F) {
	f.Add("settings.json.lock", []byte("4242\n"))
	f.Add("\xff", []byte{})
	f.Fuzz(func(t *testing.T, lock string, b []byte) {
		want := fmt.Sprintf("%s.takeover-%.16s", lock, fmt.Sprintf("%x", sha256.Sum256(b)))
		if got := claimName(lock, b); got != want {
			t.Errorf("%q: %q", b, got)
		}
	})
}

// Every error is one line that prints, of bounded length beside its paths.
func FuzzErrorText(f *testing.F) {
	f.Add("a/settings.json.lock", "a/claim", 4242, "node dsh serve", byte(0), "x", int64(2e9))
	f.Add("a\nb\x1b[31m", "\u202e", -1, "\x00\x07", byte(3), "\r\n", int64(-1))
	states := []State{Alive, OtherUser, Ourselves, Unproven, Dead}
	f.Fuzz(func(t *testing.T, path, claim string, pid int, command string, state byte, found string, waited int64) {
		s := &sighting{bytes: []byte(found), pid: pid, proof: noRecord}
		h := Holder{PID: pid, State: states[int(state)%len(states)], Command: command, Why: whyUnproven(s), Since: time.Unix(waited, 0)}
		for _, err := range []error{
			&HeldError{Path: path, Holder: h, Waited: time.Duration(waited)},
			&HeldError{Path: path, Holder: h, Claim: claim},
			&HeldError{Path: path, Holder: h, Err: ErrReleased},
			&LostError{Path: path, Found: "nothing is there"},
			&waitError{path: path, holder: h, cause: ErrReleased},
		} {
			text := err.Error()
			if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("does not print: %q", text)
			}
			paths := len(oneline.Path(path)) + len(oneline.Path(claim))
			if len(text) > 400+paths {
				t.Errorf("%d bytes beside its paths: %s", len(text)-paths, text)
			}
			if h.State != Dead && regexp.MustCompile(`\b(rm|remove|delete)\b`).MatchString(strings.ReplaceAll(strings.ReplaceAll(text, oneline.Path(path), ""), oneline.Text(command, 80), "")) && claim == "" {
				t.Errorf("advises a removal: %s", text)
			}
		}
	})
}
