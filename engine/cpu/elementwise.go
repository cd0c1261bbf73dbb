package cpu

import (
	"unsafe"

	"github.com/hataori/hataori-go/engine"
)

// number is the set of element types that the engine computes with.
type number interface {
	int32 | int64 | float32 | float64 | complex64 | complex128
}

// row computes count elements: pointers to the first ones, strides in bytes.
type row func(dst, a, b unsafe.Pointer, count int, s *rowStrides)

// rowStrides are the inner strides, in bytes, and a factor in every type.
type rowStrides struct {
	dst, a, b int
	contig    bool // all strides are the element size
	re, im    float64
	n         int64
}

// elementwise is the step out = f(a, b), or f(a).
type elementwise struct {
	nest      nest
	size      int
	cut       int
	f         row
	strides   rowStrides
	out, a, b int // slots
}

func (s *elementwise) parts() int { return s.cut }

func (s *elementwise) run(r *run, _, part int) {
	lo, hi := share(s.nest.items, s.cut, part)
	dst, a, b := r.base[s.out], r.base[s.a], r.base[s.b]
	s.nest.each(lo, hi, func(at [operands]int, count int) {
		s.f(unsafe.Add(dst, at[0]*s.size), unsafe.Add(a, at[1]*s.size), unsafe.Add(b, at[2]*s.size), count, &s.strides)
	})
}

// newElementwise makes the step for specs of one shape and size of element; b
// is a's spec and slot for one input.
func newElementwise(f row, out, a, b engine.Spec, slots [3]int, width int, factor complex128) *elementwise {
	s := &elementwise{f: f, size: out.DType.Size(), out: slots[0], a: slots[1], b: slots[2]}
	s.nest = newNest(out.Shape.Ints(), out.AppendStrides(nil), a.AppendStrides(nil), b.AppendStrides(nil))
	in := s.nest.inner.s
	s.strides = rowStrides{dst: in[0] * s.size, a: in[1] * s.size, b: in[2] * s.size,
		contig: in == [operands]int{1, 1, 1}, re: real(factor), im: imag(factor), n: int64(real(factor))}
	s.cut = pieces(s.nest.items, width, float64(s.nest.total), float64(3*s.nest.total*s.size))
	return s
}

func addRow[T number](dst, a, b unsafe.Pointer, count int, s *rowStrides) {
	if s.contig {
		d, x, y := unsafe.Slice((*T)(dst), count), unsafe.Slice((*T)(a), count), unsafe.Slice((*T)(b), count)
		for i := range d {
			d[i] = x[i] + y[i]
		}
		return
	}
	for i := range count { // never a pointer past the last element: the collector would see it
		*(*T)(unsafe.Add(dst, i*s.dst)) = *(*T)(unsafe.Add(a, i*s.a)) + *(*T)(unsafe.Add(b, i*s.b))
	}
}

func mulRow[T number](dst, a, b unsafe.Pointer, count int, s *rowStrides) {
	if s.contig {
		d, x, y := unsafe.Slice((*T)(dst), count), unsafe.Slice((*T)(a), count), unsafe.Slice((*T)(b), count)
		for i := range d {
			d[i] = x[i] * y[i]
		}
		return
	}
	for i := range count {
		*(*T)(unsafe.Add(dst, i*s.dst)) = *(*T)(unsafe.Add(a, i*s.a)) * *(*T)(unsafe.Add(b, i*s.b))
	}
}

func scaleRow[T int32 | int64 | float32 | float64](dst, a, _ unsafe.Pointer, count int, s *rowStrides) {
	f := T(s.re)
	if !isFloat[T]() {
		f = T(s.n)
	}
	for i := range count {
		*(*T)(unsafe.Add(dst, i*s.dst)) = f * *(*T)(unsafe.Add(a, i*s.a))
	}
}

func isFloat[T int32 | int64 | float32 | float64]() bool {
	half := 0.5
	return T(half) != 0
}

// scaleRealRow scales both parts, T being the type of a part.
func scaleRealRow[T float32 | float64](dst, a, _ unsafe.Pointer, count int, s *rowStrides) {
	f := T(s.re)
	for i := range count {
		x := *(*[2]T)(unsafe.Add(a, i*s.a))
		*(*[2]T)(unsafe.Add(dst, i*s.dst)) = [2]T{f * x[0], f * x[1]}
	}
}

func scaleComplexRow[T float32 | float64](dst, a, _ unsafe.Pointer, count int, s *rowStrides) {
	re, im := T(s.re), T(s.im)
	for i := range count {
		x := *(*[2]T)(unsafe.Add(a, i*s.a))
		*(*[2]T)(unsafe.Add(dst, i*s.dst)) = [2]T{re*x[0] - im*x[1], re*x[1] + im*x[0]}
	}
}

// rows by dtype.

func addRowOf(d engine.DType) row {
	switch d {
	case engine.Int32:
		return addRow[int32]
	case engine.Int64:
		return addRow[int64]
	case engine.Float32:
		return addRow[float32]
	case engine.Float64:
		return addRow[float64]
	case engine.Complex64:
		return addRow[complex64]
	}
	return addRow[complex128]
}

func mulRowOf(d engine.DType) row {
	switch d {
	case engine.Int32:
		return mulRow[int32]
	case engine.Int64:
		return mulRow[int64]
	case engine.Float32:
		return mulRow[float32]
	case engine.Float64:
		return mulRow[float64]
	case engine.Complex64:
		return mulRow[complex64]
	}
	return mulRow[complex128]
}

func scaleRowOf(d engine.DType, factor complex128) row {
	switch d {
	case engine.Int32:
		return scaleRow[int32]
	case engine.Int64:
		return scaleRow[int64]
	case engine.Float32:
		return scaleRow[float32]
	case engine.Float64:
		return scaleRow[float64]
	}
	single := d == engine.Complex64
	switch {
	case imag(factor) == 0 && single:
		return scaleRealRow[float32]
	case imag(factor) == 0:
		return scaleRealRow[float64]
	case single:
		return scaleComplexRow[float32]
	}
	return scaleComplexRow[float64]
}
