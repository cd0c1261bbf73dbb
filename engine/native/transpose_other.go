//go:build !amd64

package native

import "unsafe"

func transposerOf(Level, int) transposer { return 0 }

func transposeVectors(int, unsafe.Pointer, *[8]unsafe.Pointer, int, int) {}

func canStream(Level) bool { return false }

func streamRuns(dst, src unsafe.Pointer, bytes, n, dstStep, srcStep int) {}

func storeFence() {}

func stepsPast(size int, dst, src unsafe.Pointer, n, step int) {}

func gatherPast(size int, dst, src, index unsafe.Pointer, groups int) {}
