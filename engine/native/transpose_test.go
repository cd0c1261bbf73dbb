package native

import (
	"testing"
	"unsafe"

	"github.com/hataori/hataori-go/engine"
)

// TestTranspose goes through every number of rows and columns around the units
// of the vector kernels.
func TestTranspose(t *testing.T) {
	t.Run("4", testTranspose[float32])
	t.Run("8", testTranspose[float64])
	t.Run("16", testTranspose[complex128])
}

func testTranspose[T Number](t *testing.T) {
	size := sizeOf[T]()
	for _, l := range levels() {
		for rows := range 20 {
			for n := range 20 {
				const ld, stride, guard = 23, 21, -7
				src, dst := make([]T, 20*ld), make([]T, 20*stride)
				for i := range src {
					src[i] = value[T](i)
				}
				for i := range dst {
					dst[i] = value[T](guard)
				}
				transpose[T](transposerOf(l, size), unsafe.Pointer(&dst[0]), unsafe.Pointer(&src[0]), nil, ld*size, rows, n, stride*size)
				for c := range 20 {
					for i := range stride {
						want := value[T](guard)
						if c < n && i < rows {
							want = src[i*ld+c]
						}
						if got := dst[c*stride+i]; got != want {
							t.Fatalf("%v: %d rows, %d columns: (%d, %d) is %v, want %v", l, rows, n, c, i, got, want)
						}
					}
				}
			}
		}
	}
}

// TestVectorRows wants the bits of the loops in Go.
func TestVectorRows(t *testing.T) {
	t.Run("float32", testVectorRows[float32])
	t.Run("float64", testVectorRows[float64])
	t.Run("complex64", testVectorRows[complex64])
	t.Run("complex128", testVectorRows[complex128])
}

func testVectorRows[T Number](t *testing.T) {
	d := engine.DTypeOf[T]()
	want := portableRows(d)
	by := newFactor(0.1 + 0.7i)
	for _, l := range levels() {
		got := rows(l, d)
		for n := range 80 {
			x, y := make([]T, n+1), make([]T, n+1)
			for i := range x {
				x[i], y[i] = fromParts[T](0.1*float64(i)-1, 1/float64(i+1)), fromParts[T](0.3/float64(i+1), float64(i)/7)
			}
			for name, f := range map[string][2]row{"add": {got.add, want.add}, "mul": {got.mul, want.mul}, "scale": {got.scale, want.scale},
				"sub": {got.sub, want.sub}, "div": {got.div, want.div}, "max": {got.max, want.max}, "min": {got.min, want.min}} {
				if f[1] == nil {
					continue
				}
				a, b := make([]T, n+1), make([]T, n+1)
				f[0](unsafe.Pointer(&a[0]), unsafe.Pointer(&x[0]), unsafe.Pointer(&y[0]), n, &by)
				f[1](unsafe.Pointer(&b[0]), unsafe.Pointer(&x[0]), unsafe.Pointer(&y[0]), n, &by)
				for i := range a {
					if a[i] != b[i] {
						t.Fatalf("%s of %d at %v: element %d is %v, want %v", name, n, l, i, a[i], b[i])
					}
				}
			}
		}
	}
}
