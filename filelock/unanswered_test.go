package filelock

import (
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
			assert.Equal(t, string(noSuchProcess), taken.Proof)
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
