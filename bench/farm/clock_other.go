//go:build !linux

package main

import "time"

const haveClocks = false

func monotonic() time.Duration   { return 0 }
func processTime() time.Duration { return 0 }
func threadTime() time.Duration  { return 0 }
func threadID() int              { return 0 }

func doze(d time.Duration) { time.Sleep(d) }

func beNice() error { return nil }
