package cpu

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
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

// limit is the least of the machine's memory with its swap space, what the
// process may address, and what its control group, as of a batch system or a
// container, may hold; what a process can address where the system does not say.
func limit() int64 {
	most := int64(addressing)
	var info syscall.Sysinfo_t
	if err := syscall.Sysinfo(&info); err == nil && info.Totalram > 0 {
		most = min(most, int64((uint64(info.Totalram)+uint64(info.Totalswap))*uint64(max(info.Unit, 1))))
	}
	var r syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_AS, &r); err == nil && r.Cur < uint64(most) {
		most = int64(r.Cur)
	}
	return min(most, groupLimit(os.DirFS("/")))
}

// groupLimit is the least limit of memory of the process's control group and those
// above it, of either version of control groups.
func groupLimit(root fs.FS) int64 {
	most := int64(addressing)
	list, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return most // none
	}
	for line := range strings.Lines(string(list)) { // number:controllers:path
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 {
			continue
		}
		top, file := "sys/fs/cgroup", "memory.max"
		if f[1] != "" {
			if !slices.Contains(strings.Split(f[1], ","), "memory") {
				continue
			}
			top, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		}
		for dir := path.Join("/", f[2]); ; dir = path.Dir(dir) {
			text, err := fs.ReadFile(root, path.Join(top, dir, file))
			if n, bad := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && bad == nil && n > 0 {
				most = min(most, n) // not "max"
			}
			if dir == "/" {
				break
			}
		}
	}
	return most
}
