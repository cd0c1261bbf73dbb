package main

import (
	"os"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// allowedCPUs are the processors in the affinity mask.
func allowedCPUs() []int {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return numbers(runtime.NumCPU())
	}
	var list []int
	for c := 0; len(list) < set.Count(); c++ {
		if set.IsSet(c) {
			list = append(list, c)
		}
	}
	return list
}

func numbers(n int) (list []int) {
	for c := range n {
		list = append(list, c)
	}
	return list
}

// onlineCPUs is the number of processors that the host has switched on.
func onlineCPUs() int {
	b, err := os.ReadFile("/sys/devices/system/cpu/online")
	if err != nil {
		return runtime.NumCPU()
	}
	n := 0
	for _, part := range strings.Split(strings.TrimSpace(string(b)), ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		a, err1 := strconv.Atoi(first)
		z, err2 := strconv.Atoi(last)
		if err1 != nil || err2 != nil || z < a {
			return runtime.NumCPU()
		}
		n += z - a + 1
	}
	return n
}

// cpuQuota is the processor time that the control group of the process may use
// for each second, 0 if there is no bound or it is not known.
func cpuQuota() float64 {
	b, err := os.ReadFile("/sys/fs/cgroup/cpu.max")
	if err != nil {
		return 0
	}
	f := strings.Fields(string(b))
	if len(f) != 2 {
		return 0
	}
	quota, err1 := strconv.ParseFloat(f[0], 64) // "max" is none
	period, err2 := strconv.ParseFloat(f[1], 64)
	if err1 != nil || err2 != nil || period <= 0 {
		return 0
	}
	return quota / period
}
