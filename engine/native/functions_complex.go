package native

import (
	"math"
	"math/cmplx"

	"github.com/hataori/hataori-go/engine"
)

// casin, cacos and catan keep the relative accuracy of both parts, after W.
// Kahan, Branch cuts for complex elementary functions; those of package
// math/cmplx take logarithms of numbers near 1.
func casin(z complex128) complex128 {
	if large(z) {
		return cmplx.Asin(z)
	}
	a, b := cmplx.Sqrt(1-z), cmplx.Sqrt(1+z)
	return complex(math.Atan2(real(z), real(a*b)), math.Asinh(real(a)*imag(b)-imag(a)*real(b)))
}

func cacos(z complex128) complex128 {
	if large(z) {
		return cmplx.Acos(z)
	}
	a, b := cmplx.Sqrt(1-z), cmplx.Sqrt(1+z)
	return complex(2*math.Atan2(real(a), real(b)), math.Asinh(real(b)*imag(a)-imag(b)*real(a)))
}

func catan(z complex128) complex128 {
	x, y := real(z), imag(z)
	a := math.Abs(y)
	if large(z) || x == 0 {
		return cmplx.Atan(z)
	}
	return complex(math.Atan2(2*x, (1-y)*(1+y)-x*x)/2, math.Copysign(math.Log1p(4*a/((1-a)*(1-a)+x*x))/4, y))
}

// ctanh and ctan are Kahan's, which keep both parts where those of package
// math/cmplx cancel.
func ctanh(z complex128) complex128 {
	x, y := real(z), imag(z)
	if !(math.Abs(x) < 20) || math.IsInf(y, 0) || math.IsNaN(y) || y == 0 {
		return cmplx.Tanh(z)
	}
	t, s := tan(y), math.Sinh(x)
	beta, rho := 1+t*t, math.Sqrt(1+s*s)
	d := 1 + beta*s*s
	return complex(beta*rho*s/d, t/d)
}

func ctan(z complex128) complex128 {
	w := ctanh(complex(-imag(z), real(z)))
	return complex(imag(w), -real(w))
}

// clog takes the logarithm of a modulus near 1 by what it differs from 1.
func clog(z complex128) complex128 {
	x, y := math.Abs(real(z)), math.Abs(imag(z))
	if x < y {
		x, y = y, x
	}
	if !(x > 0.5 && x < 2) {
		return cmplx.Log(z)
	}
	return complex(math.Log1p((x-1)*(x+1)+y*y)/2, math.Atan2(imag(z), real(z)))
}

// large says that squares may overflow, or that z is not finite.
func large(z complex128) bool { return !(math.Abs(real(z)) < 1e100 && math.Abs(imag(z)) < 1e100) }

var complexFunctions = map[engine.Unary]func(complex128) complex128{
	engine.Sign: func(z complex128) complex128 {
		if z == 0 {
			return z
		}
		r := cmplx.Abs(z)
		return complex(real(z)/r, imag(z)/r)
	},
	engine.Neg: func(z complex128) complex128 { return -z },
	engine.Exp: cmplx.Exp, engine.Log: clog,
	engine.Sin: cmplx.Sin, engine.Cos: cmplx.Cos, engine.Tan: ctan,
	engine.Asin: casin, engine.Acos: cacos, engine.Atan: catan,
	engine.Sinh: cmplx.Sinh, engine.Cosh: cmplx.Cosh, engine.Tanh: ctanh,
	engine.Sqrt: cmplx.Sqrt, engine.Rsqrt: func(z complex128) complex128 { return 1 / cmplx.Sqrt(z) },
}
