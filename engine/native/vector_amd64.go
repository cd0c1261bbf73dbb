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

// vectors of a function: of float64 and float32, by level.
type vectors struct{ f64AVX2, f32AVX2, f64AVX512, f32AVX512 vector }

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
	case engine.Sqrt:
		return vectors{sqrtF64AVX2, sqrtF32AVX2, sqrtF64AVX512, sqrtF32AVX512}, true
	case engine.Rsqrt:
		return vectors{rsqrtF64AVX2, rsqrtF32AVX2, rsqrtF64AVX512, rsqrtF32AVX512}, true
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
	return vectorRow(l, v, d, portable, false), vectorRow(l, v, d, portable, true)
}

func vectorRow(l Level, v vectors, d engine.DType, portable row, past bool) row {
	f := pickVector(l, v.f64AVX512, v.f64AVX2)
	if d == engine.Float32 {
		f = pickVector(l, v.f32AVX512, v.f32AVX2)
	}
	size, lanes := d.Size(), 4
	if l == AVX512 {
		lanes = 8
	}
	return func(dst, x, _ unsafe.Pointer, n int, by *factor) {
		for n > 0 {
			at, odd := f(dst, x, n, past)
			for ; odd != 0; odd &= odd - 1 { // dst may be x: every lane is read before it is written
				i := (at + bits.TrailingZeros(uint(odd))) * size
				portable(unsafe.Add(dst, i), unsafe.Add(x, i), nil, 1, by)
			}
			if at += lanes; at >= n {
				return
			}
			n -= at
			dst, x = unsafe.Add(dst, at*size), unsafe.Add(x, at*size)
		}
	}
}

func pickVector(l Level, avx512, avx2 vector) vector {
	if l == AVX512 {
		return avx512
	}
	return avx2
}
