// Package serve takes samples of what a call takes, one for each line of the
// standard input, as bench/pairs asks for them.
package serve

import (
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"
	"unsafe"
)

const (
	enough = 2 * time.Millisecond   // a sample lasts this long at least
	warmUp = time.Millisecond       // calls before it: threads wake, caches and processors warm up
	long   = 200 * time.Millisecond // a call that needs none before it
)

// Samples prints the time of one call in nanoseconds for each line that it
// reads, until the input ends.
func Samples(call func() error) error {
	calls := 1
	d, err := sample(call, calls)
	for err == nil && d < enough {
		calls *= 2
		d, err = sample(call, calls)
	}
	warm := d < long
	for err == nil {
		err = line()
		for start := time.Now(); err == nil && warm && time.Since(start) < warmUp; {
			err = call()
		}
		if err == nil {
			if d, err = sample(call, calls); err == nil {
				fmt.Printf("%.2f\n", float64(d.Nanoseconds())/float64(calls))
			}
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func sample(call func() error, calls int) (time.Duration, error) {
	start := time.Now()
	for range calls {
		if err := call(); err != nil {
			return 0, err
		}
	}
	return time.Since(start), nil
}

// line waits for a line of input. It waits past the runtime, which otherwise
// takes the process for idle and, when it goes on, has its monitor look every
// 20 µs for dozens of milliseconds: a sample would show how a process starts to
// work, and not what it takes when it works.
func line() error {
	for b := byte(0); b != '\n'; {
		n, _, e := syscall.RawSyscall(syscall.SYS_READ, 0, uintptr(unsafe.Pointer(&b)), 1)
		switch {
		case e == syscall.EINTR:
		case e != 0:
			return fmt.Errorf("reading a line: %w", e)
		case n == 0:
			return io.EOF
		}
	}
	return nil
}
