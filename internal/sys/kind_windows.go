package sys

import (
	"syscall"

	"golang.org/x/sys/windows"
)

func errnoKind(err error) Kind {
	if status, ok := err.(windows.NTStatus); ok {
		err = status.Errno()
	}
	errno, ok := err.(syscall.Errno)
	if !ok {
		return Other
	}
	switch errno {
	case windows.ERROR_FILE_EXISTS, windows.ERROR_ALREADY_EXISTS:
		return Exists
	case windows.ERROR_FILE_NOT_FOUND, windows.ERROR_PATH_NOT_FOUND:
		return NotExist
	case windows.ERROR_ACCESS_DENIED:
		return NotPermitted
	case windows.ERROR_SHARING_VIOLATION, windows.ERROR_DELETE_PENDING, windows.ERROR_USER_MAPPED_FILE:
		return InUse
	case windows.ERROR_LOCK_VIOLATION, windows.ERROR_IO_PENDING:
		return WouldBlock
	case windows.ERROR_DIRECTORY:
		return NotDirectory
	case windows.ERROR_DIR_NOT_EMPTY:
		return NotEmpty
	case windows.ERROR_DISK_FULL, windows.ERROR_HANDLE_DISK_FULL, windows.ERROR_DISK_QUOTA_EXCEEDED:
		return NoSpace
	case windows.ERROR_WRITE_PROTECT:
		return ReadOnly
	case windows.ERROR_FILENAME_EXCED_RANGE, windows.ERROR_BUFFER_OVERFLOW:
		return NameTooLong
	case windows.ERROR_BUSY:
		return Busy
	case windows.ERROR_NOT_SAME_DEVICE:
		return CrossDevice
	case windows.ERROR_CANT_RESOLVE_FILENAME:
		return Loop
	case windows.ERROR_TOO_MANY_OPEN_FILES:
		return TooManyFiles
	case windows.ERROR_CRC, windows.ERROR_IO_DEVICE:
		return IO
	case windows.ERROR_INVALID_PARAMETER, windows.ERROR_INVALID_NAME:
		return Invalid
	case windows.ERROR_NOT_SUPPORTED, windows.ERROR_INVALID_FUNCTION, windows.ERROR_CALL_NOT_IMPLEMENTED:
		return Unsupported
	}
	return Other
}
