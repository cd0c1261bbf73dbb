package hataori

import (
	"syscall"
	"time"
	"unsafe"
)

// nap sleeps in the operating system. time.Sleep would be the natural choice,
// but its wake-up waits for a processor of the Go scheduler to look at timers:
// milliseconds late when every lane computes.
func nap(d time.Duration) {
	t := syscall.NsecToTimespec(int64(d))
	_ = syscall.Nanosleep(&t, nil) // a signal ends it early, which is fine
}

// napHolding does the same without giving up the processor of the Go scheduler,
// for a coordinator that has one to itself. Giving it up, some thousand times a
// second, keeps the scheduler's monitor thread awake, which then takes time from
// the lanes every few dozen microseconds. The signal by which the runtime asks
// goroutines to stop ends the nap, so that nobody waits for it.
func napHolding(d time.Duration) {
	t := syscall.NsecToTimespec(int64(d))
	_, _, _ = syscall.RawSyscall(syscall.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&t)), 0, 0)
}
