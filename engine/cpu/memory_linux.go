package cpu

import (
	"syscall"
	"unsafe"
)

const hugePage = 2 << 20

// wide returns n bytes for a large buffer, in large pages where the system
// gives them to who asks: walks through an array meet a page every 2 MiB
// instead of every 4 KiB, and random access misses fewer. What the system
// answers changes speed alone, so it is not looked at.
func wide(n int) []byte {
	raw := make([]byte, n+hugePage)
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(raw)))) & (hugePage - 1)
	b := raw[skip : skip+n : skip+n]
	_ = syscall.Madvise(b[:n&^(hugePage-1)], syscall.MADV_HUGEPAGE)
	return b
}

// installed is the memory of the machine with its swap space, or what a process
// can address where the system does not say.
func installed() int64 {
	var info syscall.Sysinfo_t
	if err := syscall.Sysinfo(&info); err != nil || info.Totalram == 0 {
		return addressing
	}
	return int64((uint64(info.Totalram) + uint64(info.Totalswap)) * uint64(max(info.Unit, 1)))
}
