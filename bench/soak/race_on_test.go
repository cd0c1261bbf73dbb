//go:build race

package main

// The race detector keeps shadows of memory that was let go.
const raceDetector = true
