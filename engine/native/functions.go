package native

import (
	"fmt"
	"math"
	"math/cmplx"
	"unsafe"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/internal/elementary"
)

// Operands are the addresses of the elements (0, 0, …) of an output and of the
// inputs.
type Operands = [maxOperands]unsafe.Pointer

// row3 is a row of an operation of three inputs.
type row3 func(dst, x, y, z unsafe.Pointer, n int)

type integer interface{ int32 | int64 }
type float interface{ float32 | float64 }
type realNumber interface{ integer | float }
type complexNumber interface{ complex64 | complex128 }

// map1 is the row of a function of one element.
func map1[T, U any](f func(T) U) row {
	return func(dst, x, _ unsafe.Pointer, n int, _ *factor) {
		d, a := unsafe.Slice((*U)(dst), n), unsafe.Slice((*T)(x), n)
		for i, v := range a {
			d[i] = f(v)
		}
	}
}

// map2 is the row of a function of two elements.
func map2[T, U any](f func(T, T) U) row {
	return func(dst, x, y unsafe.Pointer, n int, _ *factor) {
		d, a, b := unsafe.Slice((*U)(dst), n), unsafe.Slice((*T)(x), n), unsafe.Slice((*T)(y), n)
		for i, v := range a {
			d[i] = f(v, b[i])
		}
	}
}

// real1 is the row of a function of float64 for T, rounded once.
func real1[T float](f func(float64) float64) row {
	return func(dst, x, _ unsafe.Pointer, n int, _ *factor) {
		d, a := unsafe.Slice((*T)(dst), n), unsafe.Slice((*T)(x), n)
		for i, v := range a {
			d[i] = T(f(float64(v)))
		}
	}
}

func real2[T float](f func(x, y float64) float64) row {
	return map2(func(x, y T) T { return T(f(float64(x), float64(y))) })
}

func complex1[T complexNumber](f func(complex128) complex128) row {
	return map1(func(z T) T { return T(f(complex128(z))) })
}

func complex2[T complexNumber](f func(x, y complex128) complex128) row {
	return map2(func(x, y T) T { return T(f(complex128(x), complex128(y))) })
}

// unaryRow is the row of u for dtype d, nil if it has none, and that past the
// caches, if there is one.
func unaryRow(l Level, u engine.Unary, d engine.DType) (f, past row) {
	switch d {
	case engine.Bool:
		if u == engine.Not {
			return vectorTest1(l, u, d, map1(func(x bool) bool { return !x })), nil
		}
	case engine.Int32:
		return integerRow[int32](u), nil
	case engine.Int64:
		return integerRow[int64](u), nil
	case engine.Float32:
		return vectorFunction(l, u, d, vectorTest1(l, u, d, floatRow[float32](u)))
	case engine.Float64:
		return vectorFunction(l, u, d, vectorTest1(l, u, d, floatRow[float64](u)))
	case engine.Complex64:
		return vectorComplex(l, u, d, complexRow[complex64, float32](u)), nil
	case engine.Complex128:
		return vectorComplex(l, u, d, complexRow[complex128, float64](u)), nil
	}
	return nil, nil
}

func integerRow[T integer](u engine.Unary) row {
	switch u {
	case engine.Neg:
		return negRow[T]
	case engine.Abs:
		return map1(func(x T) T { return max(x, -x) })
	case engine.Sign:
		return map1(func(x T) T { return min(max(x, -1), 1) })
	}
	return nil
}

func floatRow[T float](u engine.Unary) row {
	switch u {
	case engine.Neg:
		return negRow[T]
	case engine.Abs:
		return absRow[T]
	case engine.Sign:
		return map1(func(x T) T {
			switch {
			case x > 0:
				return 1
			case x < 0:
				return -1
			}
			return x
		})
	case engine.IsNaN:
		return isNaNRow[T]
	case engine.IsFinite:
		return isFiniteRow[T]
	}
	if f := realFunctions[u]; f != nil {
		return real1[T](f)
	}
	return nil
}

func complexRow[T complexNumber, R float](u engine.Unary) row {
	parts := func(f func(re, im float64) bool) row {
		return map1(func(z T) bool { return f(real(complex128(z)), imag(complex128(z))) })
	}
	switch u {
	case engine.Neg:
		return negRow[T]
	case engine.Abs:
		return map1(func(z T) R { return R(cmplx.Abs(complex128(z))) })
	case engine.Real:
		return partRow[R](0)
	case engine.Imag:
		return partRow[R](1)
	case engine.IsNaN:
		return parts(func(re, im float64) bool { return re != re || im != im })
	case engine.IsFinite:
		return parts(func(re, im float64) bool { return re-re == 0 && im-im == 0 })
	}
	if f := complexFunctions[u]; f != nil {
		return complex1[T](f)
	}
	return nil
}

// NewUnary plans dst = u(x) for x of dtype d, over tensors of the given extents.
// Strides are in elements. dst may be x where both have one dtype.
func (l Level) NewUnary(u engine.Unary, d engine.DType, extents, dst, x []int) *MapPlan {
	f, past := unaryRow(l, u, d)
	return newFunction(u.Name(), f, past, [maxOperands]int{outSize(u, d), d.Size()}, extents, dst, x)
}

func newFunction(name string, f, past row, size [maxOperands]int, extents []int, strides ...[]int) *MapPlan {
	if f == nil {
		panic(fmt.Sprintf("native: %s of a dtype that has none", name))
	}
	return (&MapPlan{f: f, past: past, size: size}).over(extents, strides...)
}

// outSize is the size of an element of op's output for inputs of dtype d.
func outSize(op engine.Op, d engine.DType) int {
	in := []engine.Spec{engine.SpecOf(d), engine.SpecOf(d)}
	if _, ok := op.(engine.Unary); ok {
		in = in[:1]
	}
	out, err := op.Infer(in)
	if err != nil {
		panic(err)
	}
	return out[0].DType.Size()
}

// NewBinary plans dst = b(x, y), as NewUnary does. Divisors of integers must not
// be 0.
func (l Level) NewBinary(b engine.Binary, d engine.DType, extents, dst, x, y []int) *MapPlan {
	f, past := binaryRows(l, b, d)
	return newFunction(b.Name(), f, past, [maxOperands]int{outSize(b, d), d.Size(), d.Size()}, extents, dst, x, y)
}

// binaryRows is the row of b for dtype d, nil if it has none, and that past the
// caches, if there is one.
func binaryRows(l Level, b engine.Binary, d engine.DType) (f, past row) {
	if d != engine.Bool {
		r := rows(l, d)
		if f := map[engine.Binary]row{engine.Sub: r.sub, engine.Div: r.div, engine.Max: r.max, engine.Min: r.min}[b]; f != nil {
			return f, map[engine.Binary]row{engine.Sub: r.past.sub, engine.Div: r.past.div}[b]
		}
	}
	switch d {
	case engine.Bool:
		return vectorTest(l, b, d, boolPair(b)), nil
	case engine.Int32:
		return vectorTest(l, b, d, integerPair[int32](b)), nil
	case engine.Int64:
		return vectorTest(l, b, d, integerPair[int64](b)), nil
	case engine.Float32:
		if b == engine.MakeComplex {
			return pairRow[float32], nil
		}
		return vectorPair(l, b, d, vectorTest(l, b, d, floatPair[float32](b)))
	case engine.Float64:
		if b == engine.MakeComplex {
			return pairRow[float64], nil
		}
		return vectorPair(l, b, d, vectorTest(l, b, d, floatPair[float64](b)))
	case engine.Complex64:
		return complexPair[complex64](b), nil
	case engine.Complex128:
		return complexPair[complex128](b), nil
	}
	return nil, nil
}

func boolPair(b engine.Binary) row {
	switch b {
	case engine.And:
		return map2(func(x, y bool) bool { return x && y })
	case engine.Or:
		return map2(func(x, y bool) bool { return x || y })
	case engine.Xor, engine.NotEqual:
		return differRow[bool]
	case engine.Equal:
		return equalRow[bool]
	}
	return nil
}

func integerPair[T integer](b engine.Binary) row {
	switch b {
	case engine.Div:
		return map2(func(x, y T) T { return x / y })
	case engine.Rem:
		return map2(func(x, y T) T { return x % y })
	}
	return realPair[T](b)
}

func floatPair[T float](b engine.Binary) row {
	switch b {
	case engine.Rem:
		return real2[T](math.Mod)
	case engine.Pow:
		return real2[T](elementary.Pow)
	case engine.Atan2:
		return real2[T](elementary.Atan2)
	case engine.LogAddExp:
		return real2[T](logAddExp)
	}
	return realPair[T](b)
}

func logAddExp(x, y float64) float64 {
	if x == y { // infinities too
		return x + math.Ln2
	}
	hi, lo := max(x, y), min(x, y)
	return hi + math.Log1p(math.Exp(lo-hi))
}

func complexPair[T complexNumber](b engine.Binary) row {
	switch b {
	case engine.Div:
		return complex2[T](func(x, y complex128) complex128 { return x / y })
	case engine.Pow:
		return complex2[T](cmplx.Pow)
	case engine.Equal:
		return equalRow[T]
	case engine.NotEqual:
		return differRow[T]
	}
	return nil
}

func realPair[T realNumber](b engine.Binary) row {
	switch b {
	case engine.Equal:
		return equalRow[T]
	case engine.NotEqual:
		return differRow[T]
	case engine.Less:
		return lessRow[T]
	case engine.LessEqual:
		return lessEqualRow[T]
	case engine.Greater:
		return func(dst, x, y unsafe.Pointer, n int, by *factor) { lessRow[T](dst, y, x, n, by) }
	case engine.GreaterEqual:
		return func(dst, x, y unsafe.Pointer, n int, by *factor) { lessEqualRow[T](dst, y, x, n, by) }
	}
	return nil
}

func subRow[T numeric](dst, x, y unsafe.Pointer, n int, _ *factor) {
	d, a, b := unsafe.Slice((*T)(dst), n), unsafe.Slice((*T)(x), n), unsafe.Slice((*T)(y), n)
	for i, v := range a {
		d[i] = v - b[i]
	}
}

func greaterRow[T realNumber](dst, x, y unsafe.Pointer, n int, _ *factor) {
	d, a, b := unsafe.Slice((*T)(dst), n), unsafe.Slice((*T)(x), n), unsafe.Slice((*T)(y), n)
	for i, v := range a {
		d[i] = max(v, b[i])
	}
}

func lesserRow[T realNumber](dst, x, y unsafe.Pointer, n int, _ *factor) {
	d, a, b := unsafe.Slice((*T)(dst), n), unsafe.Slice((*T)(x), n), unsafe.Slice((*T)(y), n)
	for i, v := range a {
		d[i] = min(v, b[i])
	}
}

func lessRow[T realNumber](dst, x, y unsafe.Pointer, n int, _ *factor) {
	d, a, b := unsafe.Slice((*bool)(dst), n), unsafe.Slice((*T)(x), n), unsafe.Slice((*T)(y), n)
	for i, v := range a {
		d[i] = v < b[i]
	}
}

func lessEqualRow[T realNumber](dst, x, y unsafe.Pointer, n int, _ *factor) {
	d, a, b := unsafe.Slice((*bool)(dst), n), unsafe.Slice((*T)(x), n), unsafe.Slice((*T)(y), n)
	for i, v := range a {
		d[i] = v <= b[i]
	}
}

// NewTernary plans dst = t(x, y, z) for y and z of dtype d, as NewUnary does.
func (l Level) NewTernary(t engine.Ternary, d engine.DType, extents, dst, x, y, z []int) *MapPlan {
	p := &MapPlan{size: [maxOperands]int{d.Size(), d.Size(), d.Size(), d.Size()}}
	if t == engine.Select {
		p.size[1] = 1
	}
	p.f3 = ternaryRow(l, t, d)
	if p.f3 == nil {
		panic(fmt.Sprintf("native: %s of a dtype that has none", t.Name()))
	}
	return p.over(extents, dst, x, y, z)
}

func ternaryRow(l Level, t engine.Ternary, d engine.DType) row3 {
	if t == engine.Select {
		switch d.Size() {
		case 1:
			return selectRow[uint8]
		case 4:
			return vectorSelect(l, 4, selectRow[uint32])
		case 8:
			return vectorSelect(l, 8, selectRow[uint64])
		}
		return selectRow[[2]uint64]
	}
	switch d {
	case engine.Int32:
		return clampRow[int32]
	case engine.Int64:
		return clampRow[int64]
	case engine.Float32:
		return clampRow[float32]
	case engine.Float64:
		return clampRow[float64]
	}
	return nil
}

func selectRow[T cell](dst, x, y, z unsafe.Pointer, n int) {
	d, p, a, b := unsafe.Slice((*T)(dst), n), unsafe.Slice((*bool)(x), n), unsafe.Slice((*T)(y), n), unsafe.Slice((*T)(z), n)
	for i, c := range p {
		v := b[i]
		if c {
			v = a[i]
		}
		d[i] = v
	}
}

func clampRow[T realNumber](dst, x, y, z unsafe.Pointer, n int) {
	d, a, lo, hi := unsafe.Slice((*T)(dst), n), unsafe.Slice((*T)(x), n), unsafe.Slice((*T)(y), n), unsafe.Slice((*T)(z), n)
	for i, v := range a {
		d[i] = min(max(v, lo[i]), hi[i])
	}
}
