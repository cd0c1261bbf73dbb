//go:build !linux

package hataori

import "time"

// allowedCPUs is not known.
func allowedCPUs() []int { return nil }

// cpuTime is not known.
func cpuTime() time.Duration { return 0 }
