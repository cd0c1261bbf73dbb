package elementary

import (
	"math"
	"math/cmplx"
)

// ComplexExp is eˣ(cos y + i sin y) for z = x + iy.
func ComplexExp(z complex128) complex128 {
	x, y := real(z), imag(z)
	switch {
	case y == 0:
		return complex(Exp(x), y)
	case !finite(z):
		return cmplx.Exp(z)
	}
	e, tail := halves(x)
	return complex(e*Cos(y)*tail, e*Sin(y)*tail)
}

// halves is eˣ as a product, so that it may exceed the range before it meets a
// small factor.
func halves(x float64) (e, f float64) {
	if x > 709 {
		return math.Exp(x / 2), math.Exp(x / 2)
	}
	return Exp(x), 1
}

// ComplexLog is ln |z| + i arg z. A modulus near 1 is taken by what it differs
// from 1.
func ComplexLog(z complex128) complex128 {
	x, y := math.Abs(real(z)), math.Abs(imag(z))
	if x < y {
		x, y = y, x
	}
	angle := Atan2(imag(z), real(z))
	if x > 0.5 && x < 2 {
		return complex(math.Log1p((x-1)*(x+1)+y*y)/2, angle)
	}
	return complex(logModulus(z), angle)
}

// logModulus is ln |z|, also where |z| is beyond the range, or subnormal.
func logModulus(z complex128) float64 {
	x, y := real(z), imag(z)
	switch m := max(math.Abs(x), math.Abs(y)); {
	case m > 0x1p1000:
		return Log(math.Hypot(x/4, y/4)) + 2*math.Ln2
	case m < 0x1p-900:
		return Log(math.Hypot(x*0x1p300, y*0x1p300)) - 300*math.Ln2
	}
	return Log(math.Hypot(x, y))
}

// ComplexSign is z/|z|, and z where that is 0.
func ComplexSign(z complex128) complex128 {
	x, y := real(z), imag(z)
	switch m := max(math.Abs(x), math.Abs(y)); {
	case m == 0:
		return z
	case m > 0x1p1000 || m < 0x1p-900: // |z| would not be what it should
		_, e := math.Frexp(m)
		x, y = math.Ldexp(x, -e), math.Ldexp(y, -e)
	}
	r := math.Hypot(x, y)
	return complex(x/r, y/r)
}

// ComplexSqrt lifts what would be rounded as a subnormal number.
func ComplexSqrt(z complex128) complex128 {
	if m := max(math.Abs(real(z)), math.Abs(imag(z))); m > 0 && m < 0x1p-900 {
		w := cmplx.Sqrt(complex(real(z)*0x1p200, imag(z)*0x1p200))
		return complex(real(w)*0x1p-100, imag(w)*0x1p-100)
	}
	return cmplx.Sqrt(z)
}

// ComplexRsqrt is 1/√z.
func ComplexRsqrt(z complex128) complex128 { return inverse(ComplexSqrt(z)) }

// inverse is 1/z. A part that vanishes keeps its sign.
func inverse(z complex128) complex128 {
	w := 1 / z
	return complex(math.Copysign(real(w), real(z)), math.Copysign(imag(w), -imag(z)))
}

// ComplexSin is sin x cosh y + i cos x sinh y.
func ComplexSin(z complex128) complex128 {
	x, y := real(z), imag(z)
	switch {
	case x == 0:
		return complex(x, Sinh(y))
	case !finite(z):
		return cmplx.Sin(z)
	}
	sin, cos := Sin(x), Cos(x)
	if a := math.Abs(y); a > 709 {
		e := math.Exp(a / 2)
		return complex(sin*(e/2)*e, math.Copysign(1, y)*cos*(e/2)*e)
	}
	return complex(sin*math.Cosh(y), cos*math.Sinh(y))
}

// ComplexCos is cos x cosh y − i sin x sinh y.
func ComplexCos(z complex128) complex128 {
	x, y := real(z), imag(z)
	switch {
	case x == 0 && y == y:
		return complex(Cosh(y), -x*math.Copysign(1, y))
	case !finite(z):
		return cmplx.Cos(z)
	}
	sin, cos := Sin(x), Cos(x)
	if a := math.Abs(y); a > 709 {
		e := math.Exp(a / 2)
		return complex(cos*(e/2)*e, -math.Copysign(1, y)*sin*(e/2)*e)
	}
	return complex(cos*math.Cosh(y), -sin*math.Sinh(y))
}

// ComplexSinh is −i sin iz, ComplexCosh cos iz.
func ComplexSinh(z complex128) complex128 {
	w := ComplexSin(complex(-imag(z), real(z)))
	return complex(imag(w), -real(w))
}

// ComplexCosh is the hyperbolic cosine.
func ComplexCosh(z complex128) complex128 { return ComplexCos(complex(-imag(z), real(z))) }

// ComplexTanh and ComplexTan are W. Kahan's (Branch cuts for complex elementary
// functions), which keep both parts where those of package math/cmplx cancel or
// overflow.
func ComplexTanh(z complex128) complex128 {
	x, y := real(z), imag(z)
	switch {
	case y == 0:
		return complex(math.Tanh(x), y)
	case y-y != 0 || x != x:
		return cmplx.Tanh(z)
	case math.Abs(x) >= 20:
		return complex(math.Copysign(1, x), 4*Sin(y)*Cos(y)*math.Exp(-2*math.Abs(x)))
	}
	t, s := Tan(y), math.Sinh(x)
	beta, rho := 1+t*t, math.Sqrt(1+s*s)
	d := 1 + beta*s*s
	return complex(beta*rho*s/d, t/d)
}

// ComplexTan is −i tanh iz.
func ComplexTan(z complex128) complex128 {
	w := ComplexTanh(complex(-imag(z), real(z)))
	return complex(imag(w), -real(w))
}

// far is a modulus beyond which 1 has no part in 1 ± z², to twice the precision.
const far = 1e9

func isFar(z complex128) bool { return math.Abs(real(z)) > far || math.Abs(imag(z)) > far }

// roots are √(1−z) and √(1+z), with the sides of their cuts.
func roots(z complex128) (minus, plus complex128) {
	return ComplexSqrt(complex(1-real(z), -imag(z))), ComplexSqrt(complex(1+real(z), imag(z)))
}

// ComplexAsin, ComplexAcos and ComplexAtan are W. Kahan's too; those of package
// math/cmplx take logarithms of numbers near 1, and squares that overflow.
func ComplexAsin(z complex128) complex128 {
	x, y := real(z), imag(z)
	switch {
	case !finite(z):
		return cmplx.Asin(z)
	case isFar(z):
		return complex(Atan2(x, math.Abs(y)), math.Copysign(logModulus(z)+math.Ln2, y))
	}
	a, b := roots(z)
	return complex(math.Atan2(x, real(a*b)), math.Asinh(real(a)*imag(b)-imag(a)*real(b)))
}

// ComplexAcos is the arc cosine.
func ComplexAcos(z complex128) complex128 {
	x, y := real(z), imag(z)
	switch {
	case !finite(z):
		return cmplx.Acos(z)
	case isFar(z):
		return complex(Atan2(math.Abs(y), x), -math.Copysign(logModulus(z)+math.Ln2, y))
	}
	a, b := roots(z)
	return complex(2*math.Atan2(real(a), real(b)), math.Asinh(real(b)*imag(a)-imag(b)*real(a)))
}

// ComplexAtan is the arc tangent.
func ComplexAtan(z complex128) complex128 {
	x, y := real(z), imag(z)
	a := math.Abs(y)
	switch {
	case !finite(z):
		return cmplx.Atan(z)
	case isFar(z): // ±π/2 − 1/z
		w := inverse(z)
		return complex(math.Copysign(math.Pi/2, x)-real(w), -imag(w))
	}
	angle := Atan2(2*x, (1-y)*(1+y)-x*x) / 2
	q := (1-a)*(1-a) + x*x
	if q < 0x1p-900 { // z is ±i, all but
		return complex(angle, math.Copysign(math.Ln2-Log(math.Hypot(1-a, x)), y)/2)
	}
	return complex(angle, math.Copysign(math.Log1p(4*a/q)/4, y))
}

func finite(z complex128) bool { return real(z)-real(z) == 0 && imag(z)-imag(z) == 0 }
