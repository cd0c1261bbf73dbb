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

func threadID() int { return unix.Gettid() }
