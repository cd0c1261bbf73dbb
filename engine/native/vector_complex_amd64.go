package native

import (
	"math"
	"math/bits"
	"unsafe"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/internal/elementary"
)

// vectorComplex is the row of a function of complex numbers at a level.
func vectorComplex(l Level, u engine.Unary, d engine.DType, portable row) row {
	l = Best(l)
	if l == Portable || u != engine.Exp && u != engine.Tanh {
		return portable
	}
	if d == engine.Complex64 {
		return complexRows[complex64](u, l == AVX512, portable)
	}
	return complexRows[complex128](u, l == AVX512, portable)
}

// parts is a piece of a row, in float64.
type parts [128]float64

// complexRows computes a row piece by piece.
func complexRows[T complexNumber](u engine.Unary, wide bool, portable row) row {
	return func(dst, x, _ unsafe.Pointer, n int, by *factor) {
		var z T
		size := int(unsafe.Sizeof(z))
		for {
			m := min(n, len(parts{}))
			if u == engine.Exp {
				complexExpPart[T](wide, dst, x, m, portable, by)
			} else {
				complexTanhPart[T](wide, dst, x, m, portable, by)
			}
			if n -= m; n == 0 {
				return
			}
			dst, x = unsafe.Add(dst, m*size), unsafe.Add(x, m*size)
		}
	}
}

// complexTanhPart is (sinh x cosh x + i sin y cos y)/(sinh² x + cos² y), a sum of
// what is not negative; the portable function where a factor may overflow or a part
// is a zero or not finite.
func complexTanhPart[T complexNumber](wide bool, dst, x unsafe.Pointer, n int, portable row, by *factor) {
	var re, im, sin, cos parts
	d, a := unsafe.Slice((*T)(dst), n), unsafe.Slice((*T)(x), n)
	for i, z := range a {
		re[i], im[i] = math.Abs(real(complex128(z))), imag(complex128(z))
	}
	if wide {
		expm1F64AVX512(unsafe.Pointer(&re), unsafe.Pointer(&re), n, false)
	} else {
		expm1F64AVX2(unsafe.Pointer(&re), unsafe.Pointer(&re), n, false)
	}
	sinParts(wide, &sin, &im, n)
	cosParts(wide, &cos, &im, n)
	for i, z := range a {
		x, e := real(complex128(z)), re[i]
		if !(e < 1e8 && e > 0) || im[i] == 0 || sin[i] != sin[i] {
			portable(unsafe.Pointer(&d[i]), unsafe.Pointer(&a[i]), nil, 1, by)
			continue
		}
		s := (e + e/(e+1)) / 2
		q := s*s + cos[i]*cos[i]
		d[i] = T(complex(math.Copysign(s*math.Sqrt(1+s*s)/q, x), sin[i]*cos[i]/q))
	}
}

// complexExpPart is eˣ(cos y + i sin y), and the portable function where a factor is
// not an ordinary number.
func complexExpPart[T complexNumber](wide bool, dst, x unsafe.Pointer, n int, portable row, by *factor) {
	var re, im, sin, cos parts
	d, a := unsafe.Slice((*T)(dst), n), unsafe.Slice((*T)(x), n)
	for i, z := range a {
		re[i], im[i] = real(complex128(z)), imag(complex128(z))
	}
	// Called by name, so that the parts stay on the stack.
	if wide {
		expF64AVX512(unsafe.Pointer(&re), unsafe.Pointer(&re), n, false)
	} else {
		expF64AVX2(unsafe.Pointer(&re), unsafe.Pointer(&re), n, false)
	}
	sinParts(wide, &sin, &im, n)
	cosParts(wide, &cos, &im, n)
	for i := range a {
		p, q := re[i]*cos[i], re[i]*sin[i]
		if p-p != 0 || q-q != 0 || re[i] == 0 {
			portable(unsafe.Pointer(&d[i]), unsafe.Pointer(&a[i]), nil, 1, by)
			continue
		}
		d[i] = T(complex(p, q))
	}
}

func sinParts(wide bool, dst, x *parts, n int) {
	for i, lanes := 0, 0; i < n; i += lanes {
		var at, odd int
		if lanes = 4; wide {
			lanes = 8
			at, odd = sinF64AVX512(unsafe.Pointer(&dst[i]), unsafe.Pointer(&x[i]), n-i, false)
		} else {
			at, odd = sinF64AVX2(unsafe.Pointer(&dst[i]), unsafe.Pointer(&x[i]), n-i, false)
		}
		i += at
		for ; odd != 0; odd &= odd - 1 {
			k := i + bits.TrailingZeros(uint(odd))
			dst[k] = elementary.Sin(x[k])
		}
	}
}

func cosParts(wide bool, dst, x *parts, n int) {
	for i, lanes := 0, 0; i < n; i += lanes {
		var at, odd int
		if lanes = 4; wide {
			lanes = 8
			at, odd = cosF64AVX512(unsafe.Pointer(&dst[i]), unsafe.Pointer(&x[i]), n-i, false)
		} else {
			at, odd = cosF64AVX2(unsafe.Pointer(&dst[i]), unsafe.Pointer(&x[i]), n-i, false)
		}
		i += at
		for ; odd != 0; odd &= odd - 1 {
			k := i + bits.TrailingZeros(uint(odd))
			dst[k] = elementary.Cos(x[k])
		}
	}
}
