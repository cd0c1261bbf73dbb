package native

import (
	"math"
	"unsafe"
)

// Rows of the plainest functions, as loops of their own: a call for each element
// takes longer than the element.

func negRow[T numeric](dst, x, _ unsafe.Pointer, n int, _ *factor) {
	d, a := unsafe.Slice((*T)(dst), n), unsafe.Slice((*T)(x), n)
	for i, v := range a {
		d[i] = -v
	}
}

func absRow[T float](dst, x, _ unsafe.Pointer, n int, _ *factor) {
	d, a := unsafe.Slice((*T)(dst), n), unsafe.Slice((*T)(x), n)
	for i, v := range a {
		d[i] = T(math.Abs(float64(v)))
	}
}

func isNaNRow[T float](dst, x, _ unsafe.Pointer, n int, _ *factor) {
	d, a := unsafe.Slice((*bool)(dst), n), unsafe.Slice((*T)(x), n)
	for i, v := range a {
		d[i] = v != v
	}
}

func isFiniteRow[T float](dst, x, _ unsafe.Pointer, n int, _ *factor) {
	d, a := unsafe.Slice((*bool)(dst), n), unsafe.Slice((*T)(x), n)
	for i, v := range a {
		d[i] = v-v == 0
	}
}

// partRow is every other number from x on: the real or the imaginary parts.
func partRow[R float](which int) row {
	return func(dst, x, _ unsafe.Pointer, n int, _ *factor) {
		d, a := unsafe.Slice((*R)(dst), n), unsafe.Slice((*[2]R)(x), n)
		for i := range a {
			d[i] = a[i][which]
		}
	}
}

func pairRow[R float](dst, x, y unsafe.Pointer, n int, _ *factor) {
	d, a, b := unsafe.Slice((*[2]R)(dst), n), unsafe.Slice((*R)(x), n), unsafe.Slice((*R)(y), n)
	for i, v := range a {
		d[i] = [2]R{v, b[i]}
	}
}

func equalRow[T comparable](dst, x, y unsafe.Pointer, n int, _ *factor) {
	d, a, b := unsafe.Slice((*bool)(dst), n), unsafe.Slice((*T)(x), n), unsafe.Slice((*T)(y), n)
	for i, v := range a {
		d[i] = v == b[i]
	}
}

func differRow[T comparable](dst, x, y unsafe.Pointer, n int, _ *factor) {
	d, a, b := unsafe.Slice((*bool)(dst), n), unsafe.Slice((*T)(x), n), unsafe.Slice((*T)(y), n)
	for i, v := range a {
		d[i] = v != b[i]
	}
}

// convertRow is Go's conversion, which is that of Cast but from floats to integers.
func convertRow[T, U realNumber](dst, x, _ unsafe.Pointer, n int, _ *factor) {
	d, a := unsafe.Slice((*U)(dst), n), unsafe.Slice((*T)(x), n)
	for i, v := range a {
		d[i] = U(v)
	}
}
