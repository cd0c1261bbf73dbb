package native

import (
	"testing"
	"unsafe"

	"github.com/hataori/hataori-go/engine"
)

// TestOutside finds the first index that is none, in chunks and beside them.
func TestOutside(t *testing.T) {
	t.Run("int32", func(t *testing.T) { testOutside[int32](t, engine.Int32) })
	t.Run("int64", func(t *testing.T) { testOutside[int64](t, engine.Int64) })
}

func testOutside[I integer](t *testing.T, d engine.DType) {
	const n, extent = 1000, 77
	size := int(unsafe.Sizeof(I(0)))
	for _, at := range []int{-1, 0, 1, 255, 256, 700, 767, 768, 998} {
		for _, bad := range []I{-1, extent, 1 << 30} {
			for _, stride := range []int{1, 2} {
				x := make([]I, n*stride)
				for i := range n {
					x[i*stride] = I(i % extent)
				}
				if at >= 0 {
					x[at*stride], x[(n-1)*stride] = bad, bad
				}
				s := NewScan(size, []int{n}, []int{stride}, Outside(d, extent))
				if got := s.Run(unsafe.Pointer(&x[0]), 0, n); got != at {
					t.Fatalf("%d at %d, stride %d: found at %d", bad, at, stride, got)
				}
			}
		}
	}
}
