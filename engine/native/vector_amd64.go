package native

import (
	"math/bits"
	"unsafe"

	"github.com/hataori/hataori-go/engine"
)

// vector computes n > 0 elements of a function from the first on, by vectors.
// Where some lanes of a vector are beyond its means, it leaves them alone and
// returns where the vector starts and which lanes they are; else n and 0. Past
// says to write past the caches, into whole lines.
type vector func(dst, x unsafe.Pointer, n int, past bool) (at, odd int)

// vector2 is vector for two inputs.
type vector2 func(dst, x, y unsafe.Pointer, n int, past bool) (at, odd int)

// byLevel are the vectors of a function: of float64 and float32, by level.
type byLevel[V any] struct{ f64AVX2, f32AVX2, f64AVX512, f32AVX512 V }

func (v byLevel[V]) pick(l Level, d engine.DType) V {
	switch {
	case d == engine.Float64 && l == AVX512:
		return v.f64AVX512
	case d == engine.Float64:
		return v.f64AVX2
	case l == AVX512:
		return v.f32AVX512
	}
	return v.f32AVX2
}

type (
	vectors  = byLevel[vector]
	vectors2 = byLevel[vector2]
)

func vectorsOf(u engine.Unary) (v vectors, ok bool) {
	switch u {
	case engine.Exp:
		return vectors{expF64AVX2, expF32AVX2, expF64AVX512, expF32AVX512}, true
	case engine.Expm1:
		return vectors{expm1F64AVX2, expm1F32AVX2, expm1F64AVX512, expm1F32AVX512}, true
	case engine.Log:
		return vectors{logF64AVX2, logF32AVX2, logF64AVX512, logF32AVX512}, true
	case engine.Log1p:
		return vectors{log1pF64AVX2, log1pF32AVX2, log1pF64AVX512, log1pF32AVX512}, true
	case engine.Tanh:
		return vectors{tanhF64AVX2, tanhF32AVX2, tanhF64AVX512, tanhF32AVX512}, true
	case engine.Sin:
		return vectors{sinF64AVX2, sinF32AVX2, sinF64AVX512, sinF32AVX512}, true
	case engine.Cos:
		return vectors{cosF64AVX2, cosF32AVX2, cosF64AVX512, cosF32AVX512}, true
	case engine.Tan:
		return vectors{tanF64AVX2, tanF32AVX2, tanF64AVX512, tanF32AVX512}, true
	case engine.Asin:
		return vectors{asinF64AVX2, asinF32AVX2, asinF64AVX512, asinF32AVX512}, true
	case engine.Acos:
		return vectors{acosF64AVX2, acosF32AVX2, acosF64AVX512, acosF32AVX512}, true
	case engine.Atan:
		return vectors{atanF64AVX2, atanF32AVX2, atanF64AVX512, atanF32AVX512}, true
	case engine.Sinh:
		return vectors{sinhF64AVX2, sinhF32AVX2, sinhF64AVX512, sinhF32AVX512}, true
	case engine.Cosh:
		return vectors{coshF64AVX2, coshF32AVX2, coshF64AVX512, coshF32AVX512}, true
	case engine.Erf:
		return vectors{erfF64AVX2, erfF32AVX2, erfF64AVX512, erfF32AVX512}, true
	case engine.Sqrt:
		return vectors{sqrtF64AVX2, sqrtF32AVX2, sqrtF64AVX512, sqrtF32AVX512}, true
	case engine.Rsqrt:
		return vectors{rsqrtF64AVX2, rsqrtF32AVX2, rsqrtF64AVX512, rsqrtF32AVX512}, true
	}
	return v, false
}

func vectors2Of(b engine.Binary) (v vectors2, ok bool) {
	switch b {
	case engine.Pow:
		return vectors2{powF64AVX2, powF32AVX2, powF64AVX512, powF32AVX512}, true
	case engine.Atan2:
		return vectors2{atan2F64AVX2, atan2F32AVX2, atan2F64AVX512, atan2F32AVX512}, true
	case engine.LogAddExp:
		return vectors2{logAddExpF64AVX2, logAddExpF32AVX2, logAddExpF64AVX512, logAddExpF32AVX512}, true
	}
	return v, false
}

// vectorFunction is the row of a function of float64 or float32 at a level by
// vectors, and that past the caches; the portable one and nil where there are no
// vectors.
func vectorFunction(l Level, u engine.Unary, d engine.DType, portable row) (f, past row) {
	l = Best(l)
	v, ok := vectorsOf(u)
	if !ok || l == Portable {
		return portable, nil
	}
	g := v.pick(l, d)
	return vectorRow(l, g, d, portable, false), vectorRow(l, g, d, portable, true)
}

// vectorPair is vectorFunction for a function of two inputs.
func vectorPair(l Level, b engine.Binary, d engine.DType, portable row) (f, past row) {
	l = Best(l)
	v, ok := vectors2Of(b)
	if !ok || l == Portable {
		return portable, nil
	}
	g := v.pick(l, d)
	return vectorRow2(l, g, d, portable, false), vectorRow2(l, g, d, portable, true)
}

// lanesOf is how many float64 a vector has.
func lanesOf(l Level) int {
	if l == AVX512 {
		return 8
	}
	return 4
}

func vectorRow(l Level, f vector, d engine.DType, portable row, past bool) row {
	size, lanes := d.Size(), lanesOf(l)
	return func(dst, x, _ unsafe.Pointer, n int, by *factor) {
		for {
			m := min(n, callElements)
			at, odd := f(dst, x, m, past)
			for ; odd != 0; odd &= odd - 1 { // dst may be x: every lane is read before it is written
				i := (at + bits.TrailingZeros(uint(odd))) * size
				portable(unsafe.Add(dst, i), unsafe.Add(x, i), nil, 1, by)
			}
			at = min(at+lanes, m)
			if n -= at; n == 0 {
				return
			}
			dst, x = unsafe.Add(dst, at*size), unsafe.Add(x, at*size)
		}
	}
}

func vectorRow2(l Level, f vector2, d engine.DType, portable row, past bool) row {
	size, lanes := d.Size(), lanesOf(l)
	return func(dst, x, y unsafe.Pointer, n int, by *factor) {
		for {
			m := min(n, callElements)
			at, odd := f(dst, x, y, m, past)
			for ; odd != 0; odd &= odd - 1 {
				i := (at + bits.TrailingZeros(uint(odd))) * size
				portable(unsafe.Add(dst, i), unsafe.Add(x, i), unsafe.Add(y, i), 1, by)
			}
			at = min(at+lanes, m)
			if n -= at; n == 0 {
				return
			}
			dst, x, y = unsafe.Add(dst, at*size), unsafe.Add(x, at*size), unsafe.Add(y, at*size)
		}
	}
}
