package hataori

import (
	"sync/atomic"
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

// gong is a bell whose wait neither gives up the processor of the Go scheduler,
// nor depends on when that looks at timers: for a coordinator that has a
// processor to itself. Giving it up, some thousand times a second, keeps the
// scheduler's monitor thread awake, which then takes time from the lanes every
// few dozen microseconds. The signal by which the runtime asks goroutines to
// stop ends the wait, so that nobody waits for it.
type gong struct{ word atomic.Uint32 }

func newGong() bell { return new(gong) }

// What the word of a gong says.
const (
	gongSilent = iota
	gongRung
	gongAwaited
)

// From linux/futex.h.
const (
	futexWaitPrivate = 0 | 128
	futexWakePrivate = 1 | 128
)

func (g *gong) wait(d time.Duration) bool {
	if g.word.CompareAndSwap(gongSilent, gongAwaited) {
		t := syscall.NsecToTimespec(int64(d))
		_, _, _ = syscall.RawSyscall6(syscall.SYS_FUTEX, uintptr(unsafe.Pointer(&g.word)), futexWaitPrivate, gongAwaited,
			uintptr(unsafe.Pointer(&t)), 0, 0) // whatever ends it, the word tells
	}
	return g.word.Swap(gongSilent) == gongRung
}

func (g *gong) ring() {
	if g.word.Load() != gongRung && g.word.Swap(gongRung) == gongAwaited {
		_, _, _ = syscall.RawSyscall6(syscall.SYS_FUTEX, uintptr(unsafe.Pointer(&g.word)), futexWakePrivate, 1, 0, 0, 0)
	}
}
