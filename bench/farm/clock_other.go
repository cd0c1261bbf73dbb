//go:build !linux

package main

import "time"

const haveClocks = false

func monotonic() time.Duration   { return 0 }
func processTime() time.Duration { return 0 }
func threadTime() time.Duration  { return 0 }

func beNice() error { return nil }
