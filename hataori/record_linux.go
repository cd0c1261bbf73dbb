package hataori

import (
	"time"

	"golang.org/x/sys/unix"
)

// allowedCPUs are the processors that this process may use.
func allowedCPUs() []int {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil // it has more of them than the set holds
	}
	list := make([]int, 0, set.Count())
	for c := 0; len(list) < cap(list); c++ {
		if set.IsSet(c) {
			list = append(list, c)
		}
	}
	return list
}

// cpuTime is the processor time that this process has used.
func cpuTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
