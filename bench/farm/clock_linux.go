package main

import (
	"time"

	"golang.org/x/sys/unix"
)

// These clocks are the system's: monotonic is the same for all processes of a
// host, the others count processor time of this process and of this thread.
const haveClocks = true

func monotonic() time.Duration   { return clock(unix.CLOCK_MONOTONIC) }
func processTime() time.Duration { return clock(unix.CLOCK_PROCESS_CPUTIME_ID) }
func threadTime() time.Duration  { return clock(unix.CLOCK_THREAD_CPUTIME_ID) }

func clock(id int32) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(id, &t); err != nil {
		panic(err) // these three exist on every Linux
	}
	return time.Duration(t.Nano())
}
