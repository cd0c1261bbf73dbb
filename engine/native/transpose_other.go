//go:build !amd64

package native

import "unsafe"

func transposerOf(Level, int) transposer { return 0 }

func transposeVectors(int, unsafe.Pointer, *[8]unsafe.Pointer, int, int) {}
