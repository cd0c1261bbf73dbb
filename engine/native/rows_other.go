//go:build !amd64

package native

import (
	"unsafe"

	"github.com/hataori/hataori-go/engine"
)

func rows(_ Level, d engine.DType) rowsOf { return portableRows(d) }

func blocksOf(Level, engine.DType) func(sums, x unsafe.Pointer, n int) { return nil }

func spanOf(Level, engine.DType, engine.Reduction) func(sums, x unsafe.Pointer, n int) { return nil }
