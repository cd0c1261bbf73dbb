//go:build avogen

package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The elementary functions. Arguments are reduced to a small interval, where a
// polynomial fitted at Chebyshev nodes takes over; its error, relative to the
// result, is below 2^-57 (of erf 2^-54). The reductions are those of W. Cody and W. Waite,
// Software manual for the elementary functions, with fused multiplication.

const (
	magic  = 0x1.8p52 // x + magic − magic is x rounded; its low bits are the integer
	ln2Hi  = 0x1.62e42fefa39efp-1
	ln2Lo  = 0x1.abc9e3b39803fp-56
	log2e  = 0x1.71547652b82fep+0
	oneBit = uint64(0x3ff) << 52

	thirdsHead, thirdsTail = 0x1.5555555555555p-1, 0x1.5555555555555p-55 // ⅔

	maxPower = 708 // its exponential, and that of its negative, are normal

	// ln 2 in two parts, the first of which times an exponent is exact.
	ln2Head = 0x1.62e42fefa3800p-1
	ln2Tail = 0x1.ef35793c76730p-45

	halfPi1  = 0x1.921fb54442d18p+0
	halfPi2  = 0x1.1a62633145c07p-54
	halfPi3  = -0x1.f1976b7ed8fbcp-110
	twoByPi  = 0x1.45f306dc9c883p-1
	maxAngle = 1 << 30 // elementary.Near
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

// (atan z − z)/z³ in z², for |z| ≤ tan π/8, and (asin z − z)/z³ in z², for |z| ≤ ½.
var (
	atanPoly = []float64{-0.3333333333333333, 0.19999999999999804, -0.14285714285659828, 0.11111111105155447, -0.09090908753500877,
		0.07692296375032143, -0.06666424885738255, 0.05878928997834775, -0.05230454270650244, 0.04551593220626549,
		-0.034570561981427744, 0.016285756855221028}
	asinPoly = []float64{0.16666666666666669, 0.07499999999998433, 0.04464285714635543, 0.030381944138531247, 0.02237217294214989,
		0.017352392720869973, 0.013971212973552933, 0.011479177415184906, 0.01032281435018578, 0.005457506718640358,
		0.01740087944269402, -0.014851887071247204, 0.028757851367421566}
)

// (erf z)/z − 1 in z², for |z| ≤ 1, and −ln(1 − erf z) in z − 2, for 1 ≤ z ≤ erfEnd,
// weighted with what it leaves of the result.
var (
	erfPoly = []float64{0.1283791670955126, -0.37612638903183754, 0.1128379167095512, -0.02686617064512984, 0.0052239776254232985,
		-0.000854832702193483, 0.00012055332902888736, -1.4925647567519332e-05, 1.6462045441468418e-06, -1.6364642158167616e-07,
		1.4792401209404813e-08, -1.216456005728345e-09, 8.709045129053106e-11, -4.230945824295338e-12}
	erfcPoly = []float64{5.364941264616633, 4.418160805994333, 0.9237508418240382, 0.016465118140581356, -0.0035707563436975765,
		0.0007323993518875784, -0.00013530938119982988, 2.0706542439728238e-05, -1.9520041273237135e-06, -2.0380515881038425e-07,
		1.7287702753254376e-07, -5.766058662226472e-08, 1.423275154899471e-08, -2.6252204855578694e-09, 1.530393380638617e-10,
		8.524423143170779e-11, -1.7696097733753755e-11}
)

const erfEnd = 5.93 // 1 from here on

// (2 artanh s − 2s − ⅔s³)/s⁵ in s²: an error below 2^-66 of the logarithm.
var powPoly = []float64{0.4, 0.28571428571429364, 0.22222222221656232, 0.18181818335314404, 0.15384594970895457,
	0.13334804238225345, 0.11706248540922386, 0.11723051028097753}

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

// sinh x = (e + e/(e + 1))/2 with e = eˣ − 1 for the modulus of x.
func sinh(v *vm, x reg.VecVirtual) reg.VecVirtual {
	a := v.abs(x)
	v.oddIf(a, notAtMost, maxPower)
	_, t, p := v.reduced(a)
	s := v.power(t)
	e := v.fma(s, p, v.sub(s, v.k(1)))
	return v.withSign(v.mul(v.add(e, v.div(e, v.add(e, v.k(1)))), v.k(0.5)), x)
}

// cosh x = (e + 1/e)/2 with e = eˣ for the modulus of x.
func cosh(v *vm, x reg.VecVirtual) reg.VecVirtual {
	a := v.abs(x)
	v.oddIf(a, notAtMost, maxPower)
	_, t, p := v.reduced(a)
	s := v.power(t)
	e := v.fma(s, p, s)
	return v.mul(v.add(e, v.div(v.k(1), e)), v.k(0.5))
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
	if v.wide() {
		k = v.new()
		VGETEXPPD(bits, k)
	} else {
		k = v.sub(v.or(v.shr(bits, 52), v.kb(0x433<<52)), v.k(1<<52+1023))
	}
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
	v.oddUnlessNormal(x)
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

// tan is the quotient of sine and cosine, or its negative inverse a quarter turn on.
func tan(v *vm, x reg.VecVirtual) reg.VecVirtual {
	t, sine, cosine := v.turned(x)
	r := v.div(v.ifLow(t, cosine, sine), v.ifLow(t, sine, cosine))
	return v.where(x, 0, x, v.flip(r, v.shl(t, 63))) // −0
}

// turned is x = k·π/2 + r: k + magic, sin r and cos r.
func (v *vm) turned(x reg.VecVirtual) (t, sine, cosine reg.VecVirtual) {
	v.oddIf(v.abs(x), notAtMost, maxAngle)
	t = v.fma(x, v.k(twoByPi), v.k(magic))
	k := v.sub(t, v.k(magic))
	r := v.fnma(k, v.k(halfPi3), v.fnma(k, v.k(halfPi2), v.fnma(k, v.k(halfPi1), x)))
	z := v.mul(r, r)
	sine = v.fma(v.mul(r, z), v.poly(z, sinPoly...), r)
	cosine = v.fma(v.mul(z, z), v.poly(z, cosPoly...), v.fnma(z, v.k(0.5), v.k(1)))
	return t, sine, cosine
}

// trig is the sine of x, or of x and a quarter turn.
func (v *vm) trig(x reg.VecVirtual, quarter bool) reg.VecVirtual {
	t, sine, cosine := v.turned(x)
	if quarter {
		t = v.iadd(t, v.kb(1))
	}
	res := v.flip(v.ifLow(t, cosine, sine), v.shl(t, 62))
	if quarter {
		return res
	}
	return v.where(x, 0, x, res) // −0
}

const tanEighth = 0.41421356237309503 // tan π/8

// angle is that of ordinate o and abscissa a, neither negative nor NaN, as
// n·π/4 ± (z + t): a multiple, the two parts, and their common sign. Both lie
// in the first quadrant; t takes up what n·π/4 drops.
func (v *vm) angle(o, a reg.VecVirtual) (n, z, t reg.VecVirtual) {
	lo, hi := v.lesser(o, a), v.greater(o, a)
	middle := v.compare(lo, more, v.mul(hi, v.k(tanEighth)))
	z = v.div(v.pick(middle, v.sub(lo, hi), lo), v.pick(middle, v.add(lo, hi), hi))
	n = v.pick(middle, v.k(1), v.k(0))
	s := v.mul(z, z)
	t = v.mul(v.mul(z, s), v.poly(s, atanPoly...))
	steep := v.compare(o, more, a)
	n = v.pick(steep, v.sub(v.k(2), n), n)
	z, t = v.pick(steep, v.negative(z), z), v.pick(steep, v.negative(t), t)
	return n, z, t
}

// radians is n·π/4 + z + t.
func (v *vm) radians(n, z, t reg.VecVirtual) reg.VecVirtual {
	return v.fma(n, v.k(halfPi1/2), v.add(z, v.fma(n, v.k(halfPi2/2), t)))
}

func atan(v *vm, x reg.VecVirtual) reg.VecVirtual {
	a := v.abs(x)
	v.oddIf(a, notAtMost, math.MaxFloat64)
	return v.withSign(v.radians(v.angle(a, v.k(1))), x)
}

func atan2(v *vm, y, x reg.VecVirtual) reg.VecVirtual {
	o, a := v.abs(y), v.abs(x)
	for _, w := range []reg.VecVirtual{o, a} {
		v.oddIf(w, notAtLeast, 0x1p-500)
		v.oddIf(w, notAtMost, 0x1p500)
	}
	n, z, t := v.angle(o, a)
	left := v.compare(x, less, v.k(0))
	n = v.pick(left, v.sub(v.k(4), n), n)
	return v.withSign(v.radians(n, v.flip(z, x), v.flip(t, x)), y)
}

// arc are s and t with asin |x| = s + t up to ½, and acos |x| = 2(s + t) above.
func (v *vm) arc(x reg.VecVirtual) (above operand.Op, s, t reg.VecVirtual) {
	a := v.abs(x)
	v.oddIf(a, notAtMost, 1)
	above = v.compare(a, more, v.k(0.5))
	w := v.pick(above, v.fnma(a, v.k(0.5), v.k(0.5)), v.mul(a, a))
	s = v.pick(above, v.sqrt(w), a)
	return above, s, v.mul(v.mul(s, w), v.poly(w, asinPoly...))
}

func asin(v *vm, x reg.VecVirtual) reg.VecVirtual {
	above, s, t := v.arc(x)
	top := v.sub(v.sub(v.k(halfPi1), v.add(s, s)), v.sub(v.add(t, t), v.k(halfPi2)))
	return v.withSign(v.pick(above, top, v.add(s, t)), x)
}

func acos(v *vm, x reg.VecVirtual) reg.VecVirtual {
	above, s, t := v.arc(x)
	left := v.compare(x, less, v.k(0))
	half := v.pick(left, v.sub(v.k(halfPi1), v.add(s, v.sub(t, v.k(halfPi2)))), v.add(s, t))
	flat := v.sub(v.k(halfPi1), v.add(v.flip(s, x), v.sub(v.flip(t, x), v.k(halfPi2))))
	return v.pick(above, v.add(half, half), flat)
}

func erf(v *vm, x reg.VecVirtual) reg.VecVirtual {
	a := v.abs(x)
	v.oddIf(a, notAtMost, math.MaxFloat64)
	q := v.poly(v.sub(v.min(a, erfEnd), v.k(2)), erfcPoly...)
	_, t, p := v.reduced(v.sub(v.k(0), q))
	s := v.power(t)
	far := v.sub(v.k(1), v.fma(s, p, s))
	near := v.min(a, 1)
	near = v.fma(near, v.poly(v.mul(near, near), erfPoly...), near)
	return v.withSign(v.pick(v.compare(a, more, v.k(1)), far, near), x)
}

// pow is exp(y·ln x), the logarithm and the product kept as sums of two numbers:
// an error of ln x of 2^-63 of itself is one of 2^-53 of the largest powers.
func pow(v *vm, x, y reg.VecVirtual) reg.VecVirtual {
	v.oddUnlessNormal(x)
	h, l := v.logPair(x)
	p := v.mul(y, h)
	v.oddIf(v.abs(p), notAtMost, maxPower)
	q := v.fma(y, l, v.fms(y, h, p)) // what y·h drops, and y·l
	t := v.fma(p, v.k(log2e), v.k(magic))
	k := v.sub(t, v.k(magic))
	r := v.add(v.fnma(k, v.k(ln2Lo), v.fnma(k, v.k(ln2Hi), p)), q)
	s := v.power(t)
	return v.fma(s, v.fma(v.mul(r, r), v.poly(r, expPoly...), r), s)
}

// logPair is ln x = h + l for normal x: k·ln 2 + 2s + ⅔s³ + s⁵·P(s²) with
// s = f/(2 + f), where all but the last term is a sum of two numbers.
func (v *vm) logPair(x reg.VecVirtual) (h, l reg.VecVirtual) {
	k, f := v.split(x)
	d := v.add(f, v.k(2))
	lost := v.sub(f, v.sub(d, v.k(2)))
	inverse := v.reciprocal(d)
	s := v.mul(f, inverse)
	sl := v.mul(v.fnma(s, lost, v.fnma(s, d, f)), inverse)
	z := v.mul(s, s)
	zl := v.fms(s, s, z)
	c := v.mul(z, s)
	cl := v.fma(v.mul(z, v.k(3)), sl, v.fma(zl, s, v.fms(z, s, c)))
	a := v.mul(c, v.k(thirdsHead))
	low := v.fma(cl, v.k(thirdsHead), v.fma(c, v.k(thirdsTail), v.fms(c, v.k(thirdsHead), a)))
	low = v.fma(c, v.mul(z, v.poly(z, powPoly...)), low)
	low = v.add(low, v.fma(k, v.k(ln2Tail), v.add(sl, sl)))
	big, two := v.mul(k, v.k(ln2Head)), v.add(s, s)
	sum := v.add(big, two)
	low = v.add(low, v.sub(two, v.sub(sum, big)))
	all := v.add(sum, a)
	low = v.add(low, v.sub(a, v.sub(all, sum)))
	h = v.add(all, low)
	return h, v.sub(low, v.sub(h, all))
}

// logAddExp is the greater and ln(1 + e^d) for the difference d ≤ 0.
func logAddExp(v *vm, x, y reg.VecVirtual) reg.VecVirtual {
	hi := v.greater(x, y)
	d := v.sub(v.lesser(x, y), hi)
	v.oddWhere(x, unordered, y)
	v.oddIf(d, notAtMost, 0) // both of the same infinity
	e := exp(v, d)
	u := v.add(e, v.k(1))
	lost := v.sub(e, v.sub(u, v.k(1)))
	k, f := v.split(u)
	return v.add(hi, v.logOf(k, f, v.div(lost, u)))
}

func functions() {
	reduce := []float64{log2e, magic, ln2Hi, ln2Lo, 1}
	turn := []float64{twoByPi, magic, halfPi1, halfPi2, halfPi3, 0.5, 1}
	logs := []float64{1, 2, 0.5, ln2Head, ln2Tail}
	angles := []float64{0, 1, 2, tanEighth, halfPi1 / 2, halfPi2 / 2}
	arcs := []float64{0.5, 1, halfPi1, halfPi2}
	powers := []float64{1, 2, 3, thirdsHead, thirdsTail, ln2Head, ln2Tail, log2e, magic, ln2Hi, ln2Lo}
	for _, s := range []isa{avx2, avx512} {
		for _, size := range []int{8, 4} {
			function(s, "exp", size, reduce, exp)
			function(s, "expm1", size, reduce, expm1)
			function(s, "sinh", size, reduce, sinh)
			function(s, "cosh", size, reduce, cosh)
			function(s, "tanh", size, reduce, tanh)
			function(s, "log", size, logs, naturalLog)
			function(s, "log1p", size, logs, log1p)
			function(s, "sin", size, turn, sin)
			function(s, "cos", size, turn, cos)
			function(s, "tan", size, turn, tan)
			function(s, "asin", size, arcs, asin)
			function(s, "acos", size, arcs, acos)
			function(s, "atan", size, angles, atan)
			function(s, "erf", size, reduce, erf)
			function(s, "sqrt", size, nil, func(v *vm, x reg.VecVirtual) reg.VecVirtual { return v.sqrt(x) })
			function(s, "rsqrt", size, nil, func(v *vm, x reg.VecVirtual) reg.VecVirtual { return v.div(v.k(1), v.sqrt(x)) })
			pairFunction(s, "pow", size, powers, pow)
			pairFunction(s, "atan2", size, angles, atan2)
			pairFunction(s, "logAddExp", size, reduce, logAddExp)
		}
	}
}
