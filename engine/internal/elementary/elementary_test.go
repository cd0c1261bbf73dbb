package elementary

import (
	"math"
	"testing"
)

var inf, nz = math.Inf(1), math.Copysign(0, -1)

// near says whether a part of a number of a modulus is what it should be: to
// some units in the last place of the modulus, zeros and infinities with their signs.
func near(got, want, modulus float64) bool {
	if want == 0 || math.IsInf(want, 0) {
		return got == want && math.Signbit(got) == math.Signbit(want)
	}
	if math.IsInf(modulus, 0) {
		modulus = want
	}
	return math.Abs(got-want) <= 8*0x1p-52*math.Abs(modulus)
}

// TestComplexEdges: branch cuts, the ends of the range, and beyond squares. The
// table is numpy's, in extended precision.
func TestComplexEdges(t *testing.T) {
	for _, c := range []struct {
		name         string
		f            func(complex128) complex128
		x, y, re, im float64
	}{
		{"Exp", ComplexExp, 1000.0, 0.0, inf, 0.0},
		{"Exp", ComplexExp, 1000.0, nz, inf, nz},
		{"Exp", ComplexExp, -1000.0, 1.0, 0.0, 0.0},
		{"Exp", ComplexExp, 710.0, 1.5, 1.5802653829857376e+307, inf},
		{"Exp", ComplexExp, inf, 1.0, inf, inf},
		{"Log", ComplexLog, -1.0, 0.0, 0.0, 3.141592653589793},
		{"Log", ComplexLog, -1.0, nz, 0.0, -3.141592653589793},
		{"Log", ComplexLog, -1e+16, -1e-310, 36.841361487904734, -3.141592653589793},
		{"Log", ComplexLog, 1e+308, 1.5e+308, 709.785536140337, 0.982793723247329},
		{"Log", ComplexLog, 3e-320, 4e-320, -735.2178029785398, 0.9272952180016122},
		{"Log", ComplexLog, 0.0, -1e-310, -713.8013788281542, -1.5707963267948966},
		{"Sqrt", ComplexSqrt, -4.0, 0.0, 0.0, 2.0},
		{"Sqrt", ComplexSqrt, -4.0, nz, 0.0, -2.0},
		{"Sqrt", ComplexSqrt, nz, -1e-310, 7.071067811865465e-156, -7.071067811865465e-156},
		{"Sqrt", ComplexSqrt, 3e-310, -4e-310, 1.999999999999997e-155, -9.999999999999986e-156},
		{"Sqrt", ComplexSqrt, 1e+308, 1e+308, 1.09868411346781e+154, 4.5508986056222734e+153},
		{"Rsqrt", ComplexRsqrt, 1e+40, 1e-300, 1e-20, nz},
		{"Rsqrt", ComplexRsqrt, -1e+40, -1e-300, 0.0, 1e-20},
		{"Rsqrt", ComplexRsqrt, 3e-310, 4e-310, 4.000000000000006e+154, -2.000000000000003e+154},
		{"Sin", ComplexSin, 0.0, 1000.0, 0.0, inf},
		{"Sin", ComplexSin, nz, -1000.0, nz, -inf},
		{"Sin", ComplexSin, 1.0, 711.0, inf, 1.640527287432755e+308},
		{"Sin", ComplexSin, 1e+22, 0.5, -0.9609638057684242, 0.2726447684343254},
		{"Sin", ComplexSin, 22.0, nz, -0.008851309290403876, 0.0},
		{"Cos", ComplexCos, 0.0, -1000.0, inf, 0.0},
		{"Cos", ComplexCos, nz, -1000.0, inf, nz},
		{"Cos", ComplexCos, 1.0, 711.0, 1.640527287432755e+308, -inf},
		{"Cos", ComplexCos, 1e+22, 0.5, 0.5899905773914429, 0.44407786215146433},
		{"Cos", ComplexCos, 22.0, nz, -0.9999608263946371, nz},
		{"Sinh", ComplexSinh, 1000.0, 0.0, inf, 0.0},
		{"Sinh", ComplexSinh, -1000.0, nz, -inf, nz},
		{"Sinh", ComplexSinh, 711.0, 1.0, 1.640527287432755e+308, inf},
		{"Sinh", ComplexSinh, 0.5, 1e+22, 0.2726447684343254, -0.9609638057684242},
		{"Cosh", ComplexCosh, 1000.0, 0.0, inf, 0.0},
		{"Cosh", ComplexCosh, -1000.0, nz, inf, 0.0},
		{"Cosh", ComplexCosh, 711.0, 1.0, 1.640527287432755e+308, inf},
		{"Cosh", ComplexCosh, 0.5, 1e+22, 0.5899905773914429, -0.44407786215146433},
		{"Tan", ComplexTan, 1.0, 400.0, 0.0, 1.0},
		{"Tan", ComplexTan, 1.0, -1e+200, 0.0, -1.0},
		{"Tan", ComplexTan, -1e+200, 0.5, 0.5749810841960005, 0.685772650088053},
		{"Tanh", ComplexTanh, 400.0, 1.0, 1.0, 0.0},
		{"Tanh", ComplexTanh, -1e+200, 1.0, -1.0, 0.0},
		{"Tanh", ComplexTanh, 25.0, -3.0, 1.0, 1.0778451993398812e-22},
		{"Tanh", ComplexTanh, inf, 1.0, 1.0, 0.0},
		{"Tanh", ComplexTanh, 0.5, -1e+200, 0.685772650088053, 0.5749810841960005},
		{"Asin", ComplexAsin, 2.0, 0.0, 1.5707963267948966, 1.3169578969248168},
		{"Asin", ComplexAsin, 2.0, nz, 1.5707963267948966, -1.3169578969248168},
		{"Asin", ComplexAsin, -2.0, 0.0, -1.5707963267948966, 1.3169578969248168},
		{"Asin", ComplexAsin, -2.0, nz, -1.5707963267948966, -1.3169578969248168},
		{"Asin", ComplexAsin, 0.5, nz, 0.5235987755982989, nz},
		{"Asin", ComplexAsin, -1e+200, 1.0, -1.5707963267948966, 461.2101657793691},
		{"Asin", ComplexAsin, 1e+111, 9.5, 1.5707963267948966, 256.28009250289904},
		{"Asin", ComplexAsin, -1.5, 1e+200, -1.5e-200, 461.2101657793691},
		{"Asin", ComplexAsin, 1e-200, 1e-160, 1e-200, 1e-160},
		{"Acos", ComplexAcos, 2.0, 0.0, 0.0, -1.3169578969248168},
		{"Acos", ComplexAcos, 2.0, nz, 0.0, 1.3169578969248168},
		{"Acos", ComplexAcos, -2.0, 0.0, 3.141592653589793, -1.3169578969248168},
		{"Acos", ComplexAcos, -2.0, nz, 3.141592653589793, 1.3169578969248168},
		{"Acos", ComplexAcos, 0.5, 0.0, 1.0471975511965979, nz},
		{"Acos", ComplexAcos, -1e+200, 1.0, 3.141592653589793, -461.2101657793691},
		{"Acos", ComplexAcos, 1e+111, 9.5, 9.500000000000001e-111, -256.28009250289904},
		{"Acos", ComplexAcos, -1.5, 1e+200, 1.5707963267948966, -461.2101657793691},
		{"Atan", ComplexAtan, 0.0, 2.0, 1.5707963267948966, 0.5493061443340549},
		{"Atan", ComplexAtan, nz, 2.0, -1.5707963267948966, 0.5493061443340549},
		{"Atan", ComplexAtan, 0.0, 0.5, 0.0, 0.5493061443340549},
		{"Atan", ComplexAtan, nz, -0.5, nz, -0.5493061443340549},
		{"Atan", ComplexAtan, -1e+200, -1.0, -1.5707963267948966, nz},
		{"Atan", ComplexAtan, -1.5, 1e+200, -1.5707963267948966, 1e-200},
		{"Atan", ComplexAtan, 1e-200, 1.0, 0.7853981633974483, 230.60508288968455},
		{"Atan", ComplexAtan, 1e-200, -1.0, 0.7853981633974483, -230.60508288968455},
		{"Atan", ComplexAtan, 5e+153, -1e-303, 1.5707963267948966, nz},
	} {
		w := c.f(complex(c.x, c.y))
		if m := math.Hypot(c.re, c.im); !near(real(w), c.re, m) || !near(imag(w), c.im, m) {
			t.Errorf("%s(%v, %v) = %v, want (%v, %v)", c.name, c.x, c.y, w, c.re, c.im)
		}
	}
	for _, z := range []complex128{complex(1.5e308, 1.5e308), complex(5e-324, 5e-324), complex(3e-310, 3e-310)} {
		if w := ComplexSign(z); !near(real(w), math.Sqrt2/2, 1) || !near(imag(w), math.Sqrt2/2, 1) {
			t.Errorf("sign of %v is %v", z, w)
		}
	}
}

// TestFarAngles: numpy's sines and cosines, in extended precision; the fourth
// argument is the float64 nearest to an odd multiple of π/2.
func TestFarAngles(t *testing.T) {
	for _, c := range [][3]float64{
		{1e+22, -0.8522008497671888, 0.523214785395139},
		{1e+300, -0.8178819121159085, -0.5753861119575491},
		{1.0715086071862673e+301, -0.15920170308624243, 0.9872460775989135},
		{5.319372648326541e+255, 1.0, -4.687165924254628e-19},
		{-8589934595.0, 0.7303778890207576, -0.6830432923538463},
	} {
		if sin, cos := Sin(c[0]), Cos(c[0]); !near(sin, c[1], c[1]) || !near(cos, c[2], c[2]) {
			t.Errorf("sine and cosine of %v are %v and %v, want %v and %v", c[0], sin, cos, c[1], c[2])
		}
	}
}

// Where the two reductions meet they agree.
func TestReductionsAgree(t *testing.T) {
	for i := range 2000 {
		x := math.Float64frombits(math.Float64bits(Near) - uint64(i*i*977))
		if i%2 == 0 {
			x = math.Round(x/(math.Pi/2)) * (math.Pi / 2)
		}
		k, r := reduce(x)
		far, s := reduceFar(x)
		if (k-far)&3 != 0 || math.Abs(r-s) > 0x1p-52*math.Abs(r) {
			t.Fatalf("%v: %d, %v and %d, %v", x, k&3, r, far&3, s)
		}
	}
}

func TestReals(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"Atan2(−tiny, −1e16)", Atan2(-1e-310, -1e16), -math.Pi},
		{"Atan2(−0, −1)", Atan2(nz, -1), -math.Pi},
		{"Atan2(−0, 1)", Atan2(nz, 1), nz},
		{"Log(2⁻¹⁰⁷⁴)", Log(0x1p-1074), -1074 * math.Ln2},
		{"Exp(1023·ln 2 + ½)", Exp(709.5895657128241), 0x1p1023 * math.Exp(0.5)},
		{"Cosh(710)", Cosh(710), math.Exp(350) / 2 * math.Exp(360)},
	} {
		if !(math.Abs(c.got-c.want) <= 1e-9*math.Abs(c.want)) || math.Signbit(c.got) != math.Signbit(c.want) {
			t.Errorf("%s = %v, want %v", c.name, c.got, c.want)
		}
	}
}
