//go:build !linux

package main

import "runtime"

// allowedCPUs are all processors: there are no masks to read.
func allowedCPUs() (list []int) {
	for c := range runtime.NumCPU() {
		list = append(list, c)
	}
	return list
}

func onlineCPUs() int { return runtime.NumCPU() }

func cpuQuota() float64 { return 0 }
