//go:build linux && (amd64 || arm64)

package mpi

import (
	"fmt"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sigaction is the kernel's structure, not the C library's.
type sigaction struct {
	handler  uintptr
	flags    uint64
	restorer uintptr
	mask     uint64
}

const (
	saOnStack = 0x08000000
	sigDefault,
	sigIgnore = 0, 1
	maxSignal = 64
)

// savedSignals are the handlers at one moment.
type savedSignals [maxSignal + 1]sigaction

// restored are the signals for which Go's own handler must serve: it turns
// faults into panics, preempts goroutines, and feeds os/signal.
var restored = []unix.Signal{unix.SIGHUP, unix.SIGILL, unix.SIGBUS, unix.SIGFPE, unix.SIGSEGV, unix.SIGURG, unix.SIGPROF}

// saveSignals is called before an MPI library is loaded.
func saveSignals() (*savedSignals, error) {
	s := new(savedSignals)
	for n := 1; n <= maxSignal; n++ {
		if err := rtSigaction(n, nil, &s[n]); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// repair gives the signals in restored back to their saved handlers, and adds
// SA_ONSTACK to every other handler: without it a signal that arrives on the
// small stack of a goroutine's thread ends the process.
func (s *savedSignals) repair() error {
	for n := 1; n <= maxSignal; n++ {
		var now sigaction
		if err := rtSigaction(n, nil, &now); err != nil {
			return err
		}
		want := now
		if slices.Contains(restored, unix.Signal(n)) {
			want = s[n]
		}
		if want.handler != sigDefault && want.handler != sigIgnore {
			want.flags |= saOnStack
		}
		if want == now {
			continue
		}
		if err := rtSigaction(n, &want, nil); err != nil {
			return err
		}
	}
	return nil
}

// rtSigaction reads or sets a handler. It goes to the kernel directly, so that
// no library can intercept it. KILL, STOP and what the C library keeps for
// itself can be read and are never changed.
func rtSigaction(n int, set, get *sigaction) error {
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(n), uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(get)), 8, 0, 0)
	if errno != 0 {
		return fmt.Errorf("mpi: handler of signal %d: %w", n, errno)
	}
	return nil
}
