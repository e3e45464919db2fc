package sys

import "golang.org/x/sys/unix"

const noAttribute = unix.ENODATA
