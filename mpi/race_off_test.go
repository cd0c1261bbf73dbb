//go:build !race

package mpi_test

const raceDetector = false
