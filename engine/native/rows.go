package native

import (
	"unsafe"

	"github.com/hataori/hataori-go/engine"
)

// numeric is the set of element types that elementwise operations take.
type numeric interface {
	int32 | int64 | Number
}

// factor is a scalar in every type.
type factor struct {
	f64  float64
	f32  float32
	i64  int64
	c128 complex128
	c64  complex64
}

func newFactor(z complex128) factor {
	return factor{real(z), float32(real(z)), int64(real(z)), z, complex64(z)}
}

// row computes n contiguous elements of dst from those of x, and of y for
// operations of two inputs. dst may be x or y.
type row func(dst, x, y unsafe.Pointer, n int, by *factor)

// rowsOf are the rows of one element type at one level.
type rowsOf struct{ add, mul, scale, conj row }

func portableRows(d engine.DType) rowsOf {
	switch d {
	case engine.Int32:
		return rowsOf{addRow[int32], mulRow[int32], func(dst, x, _ unsafe.Pointer, n int, by *factor) {
			scaleRow(dst, x, n, int32(by.i64))
		}, nil}
	case engine.Int64:
		return rowsOf{addRow[int64], mulRow[int64], func(dst, x, _ unsafe.Pointer, n int, by *factor) {
			scaleRow(dst, x, n, by.i64)
		}, nil}
	case engine.Float32:
		return rowsOf{addRow[float32], mulRow[float32], func(dst, x, _ unsafe.Pointer, n int, by *factor) {
			scaleRow(dst, x, n, by.f32)
		}, nil}
	case engine.Float64:
		return rowsOf{addRow[float64], mulRow[float64], func(dst, x, _ unsafe.Pointer, n int, by *factor) {
			scaleRow(dst, x, n, by.f64)
		}, nil}
	case engine.Complex64:
		return rowsOf{addRow[complex64], mulRow[complex64], func(dst, x, _ unsafe.Pointer, n int, by *factor) {
			scaleRow(dst, x, n, by.c64)
		}, conjRow[complex64]}
	case engine.Complex128:
		return rowsOf{addRow[complex128], mulRow[complex128], func(dst, x, _ unsafe.Pointer, n int, by *factor) {
			scaleRow(dst, x, n, by.c128)
		}, conjRow[complex128]}
	}
	panic("native: arithmetic on a dtype that has none")
}

func addRow[T numeric](dst, x, y unsafe.Pointer, n int, _ *factor) {
	d, a, b := unsafe.Slice((*T)(dst), n), unsafe.Slice((*T)(x), n), unsafe.Slice((*T)(y), n)
	for i, v := range a {
		d[i] = v + b[i]
	}
}

func mulRow[T numeric](dst, x, y unsafe.Pointer, n int, _ *factor) {
	d, a, b := unsafe.Slice((*T)(dst), n), unsafe.Slice((*T)(x), n), unsafe.Slice((*T)(y), n)
	for i, v := range a {
		d[i] = v * b[i]
	}
}

func scaleRow[T numeric](dst, x unsafe.Pointer, n int, by T) {
	d, a := unsafe.Slice((*T)(dst), n), unsafe.Slice((*T)(x), n)
	for i, v := range a {
		d[i] = by * v
	}
}

func conjRow[T Number](dst, x, _ unsafe.Pointer, n int, _ *factor) {
	d := unsafe.Slice((*T)(dst), n)
	copy(d, unsafe.Slice((*T)(x), n))
	conjugate(d)
}
