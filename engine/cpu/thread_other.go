//go:build !linux

package cpu

import (
	"bytes"
	"runtime"
	"strconv"
)

// threadID tells apart goroutines that are locked to their threads where the
// system has no portable thread identity: it is the goroutine's number, as
// the runtime prints it. Used only while a pool is occupied.
func threadID() int64 {
	var buf [64]byte
	s := bytes.TrimPrefix(buf[:runtime.Stack(buf[:], false)], []byte("goroutine "))
	if i := bytes.IndexByte(s, ' '); i > 0 {
		if n, err := strconv.ParseInt(string(s[:i]), 10, 64); err == nil {
			return n
		}
	}
	return -1
}
