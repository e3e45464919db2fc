package filelock

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/sys"
)

// A question that the system does not answer proves nothing: the lock is kept. A system that has no such thing has answered.
func TestUnansweredQuestions(t *testing.T) {
	for _, c := range []struct {
		op       string
		answers  []sys.Kind
		no       []sys.Kind // there is none
		notKnown string
	}{
		{"tryShared", []sys.Kind{sys.IO, sys.NoLocks, sys.NotPermitted, sys.Invalid, sys.Other}, []sys.Kind{sys.Unsupported}, "whether it has a kernel lock is not known"},
		{"attribute", []sys.Kind{sys.IO, sys.NotPermitted, sys.Invalid, sys.Other}, []sys.Kind{sys.Unsupported, sys.NoAttribute, sys.OutOfRange}, "whether it has an attribute is not known"},
	} {
		for _, kind := range c.answers {
			path := target(t)
			dead := record(deadPID(t))
			write(t, path+lockSuffix, dead)
			_, err := acquireFor(t, newStepped(refuse(kind, c.op)), newProcess(), path, Wait(0))
			var held *HeldError
			require.ErrorAs(t, err, &held, "%s: %v", c.op, kind)
			assert.Equal(t, Unproven, held.Holder.State)
			assert.Contains(t, err.Error(), c.notKnown+": "+kind.Error())
			assert.Equal(t, string(dead), read(t, path+lockSuffix))
		}
		for _, kind := range c.no {
			path := target(t)
			write(t, path+lockSuffix, record(deadPID(t)))
			l, err := acquireFor(t, newStepped(refuse(kind, c.op)), newProcess(), path, Wait(0))
			require.NoError(t, err, "%s: %v", c.op, kind)
			taken, _ := l.Takeover()
			assert.Contains(t, []proof{noSuchProcess, notReaped}, proof(taken.Proof)) // what a system says of a handle that is open
			require.NoError(t, l.Release())
		}
	}
}

// The claim of a dead claimant whose kernel lock cannot be asked for may have been adopted by another.
func TestDeadClaimWithAnUnansweredQuestion(t *testing.T) {
	for _, op := range []string{"tryShared", "tryExclusive"} {
		path := target(t)
		dead := record(deadPID(t))
		write(t, path+lockSuffix, dead)
		claim := path + claimName(lockSuffix, dead)
		write(t, claim, record(deadPID(t)))
		s := newStepped(func(s step) error {
			if s.op == op && s.claim() && !s.after {
				return sys.IO
			}
			return nil
		})
		_, err := acquireFor(t, s, newProcess(), path, Wait(0))
		var held *HeldError
		require.ErrorAs(t, err, &held, op)
		assert.Equal(t, Unproven, held.Holder.State, op)
		assert.Equal(t, claim, held.Claim, op)
		assert.Contains(t, err.Error(), sys.IO.Error(), op)
		assert.NotContains(t, err.Error(), "remove", op)
		assert.Equal(t, string(dead), read(t, path+lockSuffix), op)
	}
}

// A removal that failed did not happen unless the name is seen to mean something else: no answer is no sign of that.
func TestRemovalsThatMayHaveFailed(t *testing.T) {
	blind := func(op string) *stepped {
		refused := false
		return newStepped(func(s step) error {
			refused = refused || s.op == op && s.lock()
			if refused && s.lock() && (s.op == op || s.op == "lstat") && !s.after {
				return sys.AccessDenied
			}
			return nil
		})
	}
	t.Run("release", func(t *testing.T) {
		path := target(t)
		l, err := acquireFor(t, blind("remove"), newProcess(), path)
		require.NoError(t, err)
		err = l.Release()
		require.ErrorIs(t, err, sys.AccessDenied)
		assert.Contains(t, err.Error(), "cannot remove the lock at release")
		assert.Equal(t, []string{filepath.Base(path) + lockSuffix}, entries(t, path))
	})
	t.Run("takeover by removal", func(t *testing.T) {
		path := target(t)
		dead := record(deadPID(t))
		write(t, path+lockSuffix, dead)
		claim := path + claimName(lockSuffix, dead)
		write(t, claim, record(deadPID(t)))
		var said strings.Builder
		_, err := acquireFor(t, blind("remove"), newProcess(), path, Wait(0), Logger(slog.New(slog.NewTextHandler(&said, nil))))
		require.ErrorIs(t, err, sys.AccessDenied)
		assert.NotContains(t, said.String(), "took over")
		assert.Equal(t, string(dead), read(t, path+lockSuffix))
	})
}

// What kept us from looking says nothing of who has the lock: it is tried again, and is the answer when the wait ends.
func TestLooksThatFail(t *testing.T) {
	for _, op := range []string{"open", "read"} {
		for _, kind := range []sys.Kind{sys.TooManyFiles, sys.IO, sys.Other} {
			for _, which := range []string{"lock", "claim"} {
				path := target(t)
				dead := record(deadPID(t))
				write(t, path+lockSuffix, dead)
				if which == "claim" {
					write(t, path+claimName(lockSuffix, dead), record(deadPID(t)))
				}
				fails := 3
				s := newStepped(func(s step) error {
					if s.op != op || s.after || s.claim() != (which == "claim") || fails == 0 {
						return nil
					}
					fails--
					return kind
				})
				s.pauseFor = true
				_, err := acquireFor(t, s, newProcess(), path, Wait(0))
				var failed *Error
				require.ErrorAs(t, err, &failed, "%s %s: %v", op, which, kind)
				assert.ErrorIs(t, err, kind)
				assert.NotErrorIs(t, err, ErrUnavailable)
				assert.Contains(t, failed.Path, map[string]string{"lock": lockSuffix, "claim": ".takeover-"}[which])

				l, err := acquireFor(t, s, newProcess(), path, Wait(firstPause*10))
				require.NoError(t, err, "%s %s: %v", op, which, kind)
				require.NoError(t, l.Release())
			}
		}
	}
}
