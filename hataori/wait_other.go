//go:build !linux

package hataori

import "time"

func nap(d time.Duration) { time.Sleep(d) }

func newGong() bell { return newChime() }
