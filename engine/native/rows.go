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
type rowsOf struct {
	add, mul, scale, conj row
	sub, div, max, min    row // nil where there is none, or none but the function's own

	past struct{ add, sub, mul, div row } // the same past the caches, into whole lines; nil where there are none
}

func portableRows(d engine.DType) rowsOf {
	switch d {
	case engine.Int32:
		return realRows[int32](func(by *factor) int32 { return int32(by.i64) })
	case engine.Int64:
		return realRows[int64](func(by *factor) int64 { return by.i64 })
	case engine.Float32:
		r := realRows[float32](func(by *factor) float32 { return by.f32 })
		r.div = divRow[float32]
		return r
	case engine.Float64:
		r := realRows[float64](func(by *factor) float64 { return by.f64 })
		r.div = divRow[float64]
		return r
	case engine.Complex64:
		r := numberRows[complex64](func(by *factor) complex64 { return by.c64 })
		r.conj = conjRow[complex64]
		return r
	case engine.Complex128:
		r := numberRows[complex128](func(by *factor) complex128 { return by.c128 })
		r.conj = conjRow[complex128]
		return r
	}
	panic("native: arithmetic on a dtype that has none")
}

func realRows[T realNumber](of func(*factor) T) rowsOf {
	r := numberRows[T](of)
	r.max, r.min = greaterRow[T], lesserRow[T]
	return r
}

func numberRows[T numeric](of func(*factor) T) rowsOf {
	return rowsOf{add: addRow[T], mul: mulRow[T], sub: subRow[T], scale: func(dst, x, _ unsafe.Pointer, n int, by *factor) {
		scaleRow(dst, x, n, of(by))
	}}
}

func divRow[T float](dst, x, y unsafe.Pointer, n int, _ *factor) {
	d, a, b := unsafe.Slice((*T)(dst), n), unsafe.Slice((*T)(x), n), unsafe.Slice((*T)(y), n)
	for i, v := range a {
		d[i] = v / b[i]
	}
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
