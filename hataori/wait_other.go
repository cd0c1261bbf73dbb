//go:build !linux

package hataori

import "time"

func nap(d time.Duration) { time.Sleep(d) }

func napHolding(d time.Duration) { time.Sleep(d) }
