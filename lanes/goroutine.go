package lanes

import (
	"bytes"
	"runtime"
	"strconv"
)

// goroutine identifies the calling goroutine: it is the number at the head of
// its stack trace, the one portable way. It costs some 3 µs, once per lane and
// run; reading the runtime's own pointer in assembly would save them at the
// price of a file per processor.
func goroutine() uintptr {
	var buf [64]byte
	head := bytes.TrimPrefix(buf[:runtime.Stack(buf[:], false)], []byte("goroutine "))
	digits, _, _ := bytes.Cut(head, []byte(" "))
	id, err := strconv.ParseUint(string(digits), 10, 64)
	if err != nil {
		panic("lanes: a stack trace does not begin with the goroutine's number")
	}
	return uintptr(id)
}
