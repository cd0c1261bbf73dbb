//go:build avogen

package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/reg"
)

// The elementary functions. Arguments are reduced to a small interval, where a
// polynomial fitted at Chebyshev nodes takes over; its error, relative to the
// result, is below 2^-57. The reductions are those of W. Cody and W. Waite,
// Software manual for the elementary functions, with fused multiplication.

const (
	magic  = 0x1.8p52 // x + magic − magic is x rounded; its low bits are the integer
	ln2Hi  = 0x1.62e42fefa39efp-1
	ln2Lo  = 0x1.abc9e3b39803fp-56
	log2e  = 0x1.71547652b82fep+0
	oneBit = uint64(0x3ff) << 52

	// ln 2 in two parts, the first of which times an exponent is exact.
	ln2Head = 0x1.62e42fefa3800p-1
	ln2Tail = 0x1.ef35793c76730p-45

	halfPi1  = 0x1.921fb54442d18p+0
	halfPi2  = 0x1.1a62633145c07p-54
	halfPi3  = -0x1.f1976b7ed8fbcp-110
	twoByPi  = 0x1.45f306dc9c883p-1
	maxAngle = 1 << 20 // above, three parts of π/2 are too few
)

// (eʳ − 1 − r)/r² for |r| ≤ ln 2 / 2.
var expPoly = []float64{0.5, 0.1666666666666667, 0.04166666666666667, 0.008333333333326141, 0.0013888888888883752,
	0.00019841269874801073, 2.480158732553378e-05, 2.7557255425009614e-06, 2.7557273660822466e-07, 2.510520668068106e-08,
	2.0914679595617734e-09}

// (2 artanh s − 2s)/s³ in s².
var logPoly = []float64{0.666666666666667, 0.39999999999899444, 0.2857142862600327, 0.22222211130259878, 0.18182889455674947,
	0.15331710618210773, 0.14616585424888623}

// (sin r − r)/r³ and (cos r − 1 + r²/2)/r⁴ in r², for |r| ≤ π/4.
var (
	sinPoly = []float64{-0.16666666666666666, 0.008333333333333331, -0.00019841269841265063, 2.7557319219337312e-06,
		-2.5052106231802837e-08, 1.6058531516797758e-10, -7.586691094197958e-13}
	cosPoly = []float64{0.041666666666666664, -0.0013888888888888887, 2.4801587301584645e-05, -2.755731922140179e-07,
		2.0876755790721963e-09, -1.1470460830795304e-11, 4.7458685530816656e-14}
)

// reduced is x = k·ln 2 + r: k, k + magic, and eʳ − 1.
func (v *vm) reduced(x reg.VecVirtual) (k, t, p reg.VecVirtual) {
	t = v.fma(x, v.k(log2e), v.k(magic))
	k = v.sub(t, v.k(magic))
	r := v.fnma(k, v.k(ln2Lo), v.fnma(k, v.k(ln2Hi), x))
	return k, t, v.fma(v.mul(r, r), v.poly(r, expPoly...), r)
}

// power is 2^k for an integer k, given as k + magic, of a normal result.
func (v *vm) power(t reg.VecVirtual) reg.VecVirtual { return v.iadd(v.shl(t, 52), v.kb(oneBit)) }

func exp(v *vm, x reg.VecVirtual) reg.VecVirtual {
	k, _, p := v.reduced(v.max(v.min(x, 1000), -1000))
	p = v.add(p, v.k(1))
	if v.wide() {
		r := v.new()
		VSCALEFPD(k, p, r)
		return r
	}
	// In two steps, so that neither overflows and the last alone rounds.
	t := v.fma(k, v.k(0.5), v.k(magic))
	rest := v.sub(k, v.sub(t, v.k(magic)))
	return v.mul(v.mul(p, v.power(t)), v.power(v.add(rest, v.k(magic))))
}

// expm1 computes half of the result, which cannot overflow before its end.
func expm1(v *vm, x reg.VecVirtual) reg.VecVirtual {
	_, t, p := v.reduced(v.max(v.min(x, 710), -60))
	half := v.iadd(v.shl(t, 52), v.kb(oneBit-1<<52))
	r := v.fma(half, p, v.sub(half, v.k(0.5)))
	return v.withSign(v.add(r, r), x)
}

// tanh x = (e²ˣ − 1)/(e²ˣ + 1) for the modulus of x.
func tanh(v *vm, x reg.VecVirtual) reg.VecVirtual {
	a := v.min(v.abs(x), 20) // 1 from 19.1 on
	_, t, p := v.reduced(v.add(a, a))
	s := v.power(t)
	e := v.fma(s, p, v.sub(s, v.k(1)))
	return v.withSign(v.div(e, v.add(e, v.k(2))), x)
}

// split is x = 2^k·(1 + f) for normal x, 1 + f in [√½, √2).
func (v *vm) split(x reg.VecVirtual) (k, f reg.VecVirtual) {
	const root = 0x3fe6a09e667f3bcd // √½
	bits := v.iadd(x, v.kb(oneBit-root))
	k = v.sub(v.or(v.shr(bits, 52), v.kb(0x433<<52)), v.k(1<<52+1023))
	m := v.iadd(v.and(bits, v.kb(1<<52-1)), v.kb(root))
	return k, v.sub(m, v.k(1))
}

// logOf is k·ln 2 + ln(1 + f) + c, for a small c.
func (v *vm) logOf(k, f, c reg.VecVirtual) reg.VecVirtual {
	s := v.mul(f, v.reciprocal(v.add(f, v.k(2))))
	z := v.mul(s, s)
	half := v.mul(v.mul(f, v.k(0.5)), f)
	w := v.fma(z, v.poly(z, logPoly...), half)
	low := v.mul(k, v.k(ln2Tail))
	if c != nil {
		low = v.add(low, c)
	}
	y := v.sub(f, v.sub(half, v.fma(s, w, low)))
	return v.fma(k, v.k(ln2Head), y)
}

func naturalLog(v *vm, x reg.VecVirtual) reg.VecVirtual {
	v.oddIf(x, notAtLeast, 0x1p-1022)
	v.oddIf(x, notAtMost, math.MaxFloat64)
	k, f := v.split(x)
	return v.logOf(k, f, nil)
}

// log1p adds what 1 + x drops.
func log1p(v *vm, x reg.VecVirtual) reg.VecVirtual {
	v.oddIf(x, notAtLeast, -1+0x1p-53)
	v.oddIf(x, notAtMost, 0x1p1000)
	one := v.k(1)
	u := v.add(x, one)
	// What was lost, exactly: (x − (u − d)) + (1 − d) with d = u − x.
	d := v.sub(u, x)
	lost := v.add(v.sub(x, v.sub(u, d)), v.sub(one, d))
	k, f := v.split(u)
	return v.withSign(v.logOf(k, f, v.div(lost, u)), x)
}

func sin(v *vm, x reg.VecVirtual) reg.VecVirtual { return v.trig(x, false) }
func cos(v *vm, x reg.VecVirtual) reg.VecVirtual { return v.trig(x, true) }

// trig is the sine of x, or of x and a quarter turn.
func (v *vm) trig(x reg.VecVirtual, quarter bool) reg.VecVirtual {
	v.oddIf(v.abs(x), notAtMost, maxAngle)
	t := v.fma(x, v.k(twoByPi), v.k(magic))
	k := v.sub(t, v.k(magic))
	r := v.fnma(k, v.k(halfPi3), v.fnma(k, v.k(halfPi2), v.fnma(k, v.k(halfPi1), x)))
	z := v.mul(r, r)
	sine := v.fma(v.mul(r, z), v.poly(z, sinPoly...), r)
	cosine := v.fma(v.mul(z, z), v.poly(z, cosPoly...), v.fnma(z, v.k(0.5), v.k(1)))
	if quarter {
		t = v.iadd(t, v.kb(1))
	}
	res := v.xor(v.ifLow(t, cosine, sine), v.and(v.shl(t, 62), v.kb(signBit)))
	if quarter {
		return res
	}
	return v.where(x, 0, x, res) // −0
}

func functions() {
	reduce := []float64{log2e, magic, ln2Hi, ln2Lo, 1}
	turn := []float64{twoByPi, magic, halfPi1, halfPi2, halfPi3, 0.5, 1}
	logs := []float64{1, 2, 0.5, ln2Head, ln2Tail}
	for _, s := range []isa{avx2, avx512} {
		for _, size := range []int{8, 4} {
			function(s, "exp", size, reduce, exp)
			function(s, "expm1", size, reduce, expm1)
			function(s, "tanh", size, reduce, tanh)
			function(s, "log", size, logs, naturalLog)
			function(s, "log1p", size, logs, log1p)
			function(s, "sin", size, turn, sin)
			function(s, "cos", size, turn, cos)
			function(s, "sqrt", size, nil, func(v *vm, x reg.VecVirtual) reg.VecVirtual { r := v.new(); VSQRTPD(x, r); return r })
			function(s, "rsqrt", size, nil, func(v *vm, x reg.VecVirtual) reg.VecVirtual {
				r := v.new()
				VSQRTPD(x, r)
				return v.div(v.k(1), r)
			})
		}
	}
}
