package sys

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/windows"
)

func TestGroupSID(t *testing.T) {
	everyone, err := windows.CreateWellKnownSid(windows.WinWorldSid)
	require.NoError(t, err)
	name, _, _, err := everyone.LookupAccount("")
	require.NoError(t, err)
	for _, group := range []string{name, "S-1-1-0"} {
		sid, err := GroupSID(group)
		require.NoError(t, err, group)
		assert.Equal(t, "S-1-1-0", sid, group)
	}
	_, err = GroupSID("nobody of this name")
	assert.ErrorIs(t, err, windows.ERROR_NONE_MAPPED)

	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	require.NoError(t, err)
	name, domain, kind, err := user.User.Sid.LookupAccount("")
	require.NoError(t, err)
	if kind != windows.SidTypeUser { // the system itself counts as a group
		return
	}
	_, err = GroupSID(domain + `\` + name)
	assert.Equal(t, errNoGroup, err, "a user is no group")
}
