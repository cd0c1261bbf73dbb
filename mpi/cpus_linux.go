package mpi

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// allowedCPUs counts the processors in the affinity mask now. runtime.NumCPU
// is the mask at the start of the process.
func allowedCPUs() int {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return runtime.NumCPU()
	}
	return set.Count()
}

// allowedMask has a 1 for each processor in the affinity mask.
func allowedMask() []int64 {
	var set unix.CPUSet
	mask := make([]int64, 1024) // what the set holds
	if err := unix.SchedGetaffinity(0, &set); err == nil {
		for cpu := range mask {
			if set.IsSet(cpu) {
				mask[cpu] = 1
			}
		}
	}
	return mask
}

func threadID() int { return unix.Gettid() }
