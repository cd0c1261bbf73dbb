//go:build !linux

package mpi

import "runtime"

func allowedCPUs() int { return runtime.NumCPU() }

// allowedMask has a 1 for each processor.
func allowedMask() []int64 {
	mask := make([]int64, 1024)
	for cpu := range min(runtime.NumCPU(), len(mask)) {
		mask[cpu] = 1
	}
	return mask
}

// threadID cannot be told; calls from a wrong thread go unnoticed.
func threadID() int { return 0 }
