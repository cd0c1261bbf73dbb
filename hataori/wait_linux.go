package hataori

import (
	"syscall"
	"time"
)

// nap sleeps in the operating system. time.Sleep would be the natural choice,
// but its wake-up waits for a processor of the Go scheduler to look at timers:
// milliseconds late when every lane computes.
func nap(d time.Duration) {
	t := syscall.NsecToTimespec(int64(d))
	_ = syscall.Nanosleep(&t, nil) // a signal ends it early, which is fine
}
