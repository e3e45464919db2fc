package compat

// windowsCode is Node's code of one of Windows' own error numbers, whatever system this is.
func windowsCode(number uint32) string {
	for _, w := range winerrors {
		for _, n := range w.numbers {
			if n == number {
				return w.code
			}
		}
	}
	return unknown
}

// winerrors is how libuv names Windows' error numbers, in the releases that Node is built with (libuv 1; its development
// branch says EACCES for 5). Numbers from 10000 are those of sockets.
var winerrors = []struct {
	code    string
	numbers []uint32
}{
	{"ENOENT", []uint32{
		2,     // file not found
		3,     // path not found
		15,    // invalid drive
		123,   // invalid name
		126,   // module not found
		161,   // bad path name
		203,   // environment variable not found
		267,   // not a directory
		4392,  // invalid reparse data
		11001, // host not found
		11004, // no data of that name
	}},
	{"EEXIST", []uint32{80, 183}},               // file exists, already exists
	{"EPERM", []uint32{5, 1314}},                // access denied, privilege not held
	{"EACCES", []uint32{740, 998, 1920, 10013}}, // elevation required, no access to memory, cannot access the file
	{"EBUSY", []uint32{32, 33, 231}},            // sharing violation, lock violation, pipe busy
	{"ENOTEMPTY", []uint32{145}},                // directory not empty
	{"EISDIR", []uint32{1}},                     // invalid function: what reading a directory answers
	{"ENOSPC", []uint32{
		39,   // handle disk full
		82,   // cannot make
		112,  // disk full
		277,  // table of extended attributes full
		1100, // end of media
	}},
	{"EROFS", []uint32{19}},         // write protected
	{"EXDEV", []uint32{17}},         // not the same device
	{"ENAMETOOLONG", []uint32{206}}, // name or extension too long
	{"ELOOP", []uint32{1921}},       // name cannot be resolved
	{"EMFILE", []uint32{4, 10024}},  // too many open files
	{"EIO", []uint32{
		23,   // checksum
		31,   // general failure
		110,  // open failed
		156,  // signal refused
		205,  // no signal sent
		1101, // file mark
		1102, // beginning of media
		1103, // set mark
		1104, // no data detected
		1106, // invalid block length
		1111, // bus reset
		1117, // device I/O
		1129, // end of media overflow
		1165, // device requires cleaning
		1166, // device door open
		1393, // disk corrupt
	}},
	{"EINVAL", []uint32{
		13,    // invalid data
		87,    // invalid parameter
		122,   // insufficient buffer
		1464,  // symbolic links not supported
		10022, // invalid argument
		10046, // protocol family not supported
	}},
	{"EBADF", []uint32{6, 1004}},              // invalid handle, invalid flags
	{"ENOTSUP", []uint32{50}},                 // not supported
	{"ENOMEM", []uint32{8, 14}},               // not enough memory, out of memory
	{"EFAULT", []uint32{111, 10014}},          // buffer overflow, bad address
	{"E2BIG", []uint32{208}},                  // expansion too long
	{"EOF", []uint32{109}},                    // broken pipe
	{"EPIPE", []uint32{230, 232, 233, 10058}}, // bad pipe, no data, pipe not connected, socket shut down
	{"ECANCELED", []uint32{995, 10004}},       // operation aborted, interrupted
	{"ECHARSET", []uint32{1113}},              // no Unicode translation
	{"ETIMEDOUT", []uint32{121, 10060}},
	{"EAGAIN", []uint32{10035}},
	{"EALREADY", []uint32{10037}},
	{"ENOTSOCK", []uint32{10038}},
	{"EMSGSIZE", []uint32{10040}},
	{"EPROTONOSUPPORT", []uint32{10043}},
	{"ESOCKTNOSUPPORT", []uint32{10044}},
	{"EAFNOSUPPORT", []uint32{10047}},
	{"EADDRINUSE", []uint32{1227, 10048}},
	{"EADDRNOTAVAIL", []uint32{10049}},
	{"ENETUNREACH", []uint32{1231, 10051}},
	{"ECONNABORTED", []uint32{1236, 10053}},
	{"ECONNRESET", []uint32{64, 10054}},
	{"ENOBUFS", []uint32{10055}},
	{"EISCONN", []uint32{10056}},
	{"ENOTCONN", []uint32{2250, 10057}},
	{"ECONNREFUSED", []uint32{1225, 10061}},
	{"EHOSTUNREACH", []uint32{1232, 10065}},
}
