package cpu

import "syscall"

// threadID is the kernel's identity of the calling thread.
func threadID() int64 { return int64(syscall.Gettid()) }
