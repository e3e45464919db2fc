//go:build !linux

package atomicwrite

import "testing"

func fullDisk(t *testing.T)         { t.Skip("needs a tmpfs of 8 KiB: Linux") }
func bindMount(t *testing.T)        { t.Skip("needs a bind mount: Linux") }
func samePID(t *testing.T)          { t.Skip("needs pid namespaces: Linux") }
func inheritance(t *testing.T)      { t.Skip("needs group ids and access lists to set: Linux") }
func foreignDirectory(t *testing.T) { t.Skip("needs a second user's rights: Linux") }
