package native

import (
	"math"

	"github.com/hataori/hataori-go/engine"
)

var realFunctions = map[engine.Unary]func(float64) float64{
	engine.Exp: exp, engine.Log: naturalLog, engine.Expm1: math.Expm1, engine.Log1p: math.Log1p,
	engine.Sin: sine, engine.Cos: cosine, engine.Tan: tan,
	engine.Asin: asin, engine.Acos: acos, engine.Atan: math.Atan,
	engine.Sinh: sinh, engine.Cosh: cosh, engine.Tanh: math.Tanh,
	engine.Sqrt: math.Sqrt, engine.Rsqrt: func(x float64) float64 { return 1 / math.Sqrt(x) }, engine.Erf: math.Erf,
}

// exp reaches the end of the range, which math.Exp of some processors does not.
func exp(x float64) float64 {
	if x > 709 && x < 710 {
		const k, head, tail = 1023, 0x1.62e42fefa3800p-1, 0x1.ef35793c76730p-45 // ln 2 in two parts
		return math.Ldexp(math.Exp((x-k*head)-k*tail), k)
	}
	return math.Exp(x)
}

// naturalLog lifts subnormal numbers, which math.Log of some processors takes
// for others.
func naturalLog(x float64) float64 {
	if x > 0 && x < 0x1p-1022 {
		return math.Log(x*0x1p54) - 54*math.Ln2
	}
	return math.Log(x)
}

// sine and cosine keep relative accuracy near their zeros, where those of
// package math subtract too few digits of π.
func sine(x float64) float64 { return turned(x, 0) }

func cosine(x float64) float64 { return turned(x, 1) }

// turned is the sine of x and quarters of a turn.
func turned(x float64, quarters int) float64 {
	if x == 0 || !(math.Abs(x) <= 1<<20) { // further out, three parts of π/2 are too few
		if quarters == 0 {
			return math.Sin(x)
		}
		return math.Cos(x)
	}
	k := math.RoundToEven(x * (2 / math.Pi))
	r := math.FMA(-k, 0x1.921fb54442d18p+0, x)
	r = math.FMA(-k, 0x1.1a62633145c07p-54, r)
	r = math.FMA(-k, -0x1.f1976b7ed8fbcp-110, r)
	switch q := (int(k) + quarters) & 3; q {
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

// asin and acos keep relative accuracy near ±1, where those of package math
// subtract from π/2.
func asin(x float64) float64 { return math.Atan2(x, math.Sqrt((1-x)*(1+x))) }
func acos(x float64) float64 { return 2 * math.Atan2(math.Sqrt(1-x), math.Sqrt(1+x)) }

// tan divides, because math.Tan drops terms near multiples of π.
func tan(x float64) float64 {
	if x == 0 {
		return x
	}
	return sine(x) / cosine(x)
}

// sinh and cosh reach the end of the range, which those of package math do not.
func sinh(x float64) float64 {
	if a := math.Abs(x); a > 709 {
		e := math.Exp(a / 2)
		return math.Copysign(e/2*e, x)
	}
	return math.Sinh(x)
}

func cosh(x float64) float64 {
	if a := math.Abs(x); a > 709 {
		e := math.Exp(a / 2)
		return e / 2 * e
	}
	return math.Cosh(x)
}
