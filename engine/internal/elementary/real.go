// Package elementary holds elementary functions of single numbers that keep
// their digits over the whole range, where those of packages math and math/cmplx
// lose some, or all: near zeros and multiples of π, near the ends of the range of
// float64, and for complex numbers of great or tiny modulus. Special values
// follow the C standard's annexes F and G.
package elementary

import "math"

// Exp reaches the end of the range, which math.Exp of some processors does not.
func Exp(x float64) float64 {
	if x > 709 && x < 710 {
		const k = 1023
		return math.Ldexp(math.Exp((x-k*ln2Head)-k*ln2Tail), k)
	}
	return math.Exp(x)
}

// Log lifts subnormal numbers, which math.Log of some processors takes for
// others.
func Log(x float64) float64 {
	if x > 0 && x < 0x1p-1022 {
		return math.Log(x*0x1p54) - 54*math.Ln2
	}
	return math.Log(x)
}

// Sin and Cos keep relative accuracy near their zeros, where those of package
// math subtract too few digits of π.
func Sin(x float64) float64 { return turned(x, 0) }

// Cos is the cosine, as Sin.
func Cos(x float64) float64 { return turned(x, 1) }

// Tan divides, because math.Tan drops terms near multiples of π.
func Tan(x float64) float64 {
	if x == 0 {
		return x
	}
	return Sin(x) / Cos(x)
}

// turned is the sine of x and quarters of a turn.
func turned(x float64, quarters int) float64 {
	if x == 0 || x-x != 0 {
		if quarters == 0 {
			return math.Sin(x)
		}
		return math.Cos(x)
	}
	k, r := reduce(x)
	switch (k + quarters) & 3 {
	case 0:
		return math.Sin(r)
	case 1:
		return math.Cos(r)
	case 2:
		return -math.Sin(r)
	default:
		return -math.Cos(r)
	}
}

// Asin and Acos keep relative accuracy near ±1, where those of package math
// subtract from π/2.
func Asin(x float64) float64 { return math.Atan2(x, math.Sqrt((1-x)*(1+x))) }

// Acos is the arc cosine, as Asin.
func Acos(x float64) float64 { return 2 * math.Atan2(math.Sqrt(1-x), math.Sqrt(1+x)) }

// Atan2 takes the side of the cut from y, where math.Atan2 takes it from a
// quotient that may vanish.
func Atan2(y, x float64) float64 { return math.Copysign(math.Atan2(math.Abs(y), x), y) }

// Sinh and Cosh reach the end of the range, which those of package math do not.
func Sinh(x float64) float64 {
	if a := math.Abs(x); a > 709 {
		e := math.Exp(a / 2)
		return math.Copysign(e/2*e, x)
	}
	return math.Sinh(x)
}

// Cosh is the hyperbolic cosine, as Sinh.
func Cosh(x float64) float64 {
	if a := math.Abs(x); a > 709 {
		return Sinh(a)
	}
	return math.Cosh(x)
}
