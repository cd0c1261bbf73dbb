package main

import (
	"errors"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// These clocks are the system's: monotonic is the same for all processes of a
// host, the others count processor time of this process and of this thread.
const haveClocks = true

func monotonic() time.Duration   { return clock(unix.CLOCK_MONOTONIC) }
func processTime() time.Duration { return clock(unix.CLOCK_PROCESS_CPUTIME_ID) }
func threadTime() time.Duration  { return clock(unix.CLOCK_THREAD_CPUTIME_ID) }

func threadID() int { return unix.Gettid() }

func clock(id int32) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(id, &t); err != nil {
		panic(err) // these three exist on every Linux
	}
	return time.Duration(t.Nano())
}

// doze sleeps in the operating system: timers of Go are milliseconds late where all
// processors compute.
func doze(d time.Duration) {
	t := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&t, nil) // a signal ends it early, which is fine
}

// beNice lets others who want a processor go before this process.
func beNice() error {
	threads, err := os.ReadDir("/proc/self/task") // those to come inherit it
	for _, t := range threads {
		id, _ := strconv.Atoi(t.Name())
		if e := unix.Setpriority(unix.PRIO_PROCESS, id, 10); e != nil && e != unix.ESRCH {
			err = errors.Join(err, e)
		}
	}
	return err
}
