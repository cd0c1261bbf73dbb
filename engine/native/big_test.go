package native

import (
	"math"
	"math/big"

	"github.com/hataori/hataori-go/engine"
)

// Functions in arbitrary precision, by series and identities alone.

const precision = 320

func num(x float64) *big.Float       { return new(big.Float).SetPrec(precision).SetFloat64(x) }
func add(x, y *big.Float) *big.Float { return new(big.Float).SetPrec(precision).Add(x, y) }
func sub(x, y *big.Float) *big.Float { return new(big.Float).SetPrec(precision).Sub(x, y) }
func mul(x, y *big.Float) *big.Float { return new(big.Float).SetPrec(precision).Mul(x, y) }
func quo(x, y *big.Float) *big.Float { return new(big.Float).SetPrec(precision).Quo(x, y) }
func scale(x *big.Float, n int) *big.Float {
	return new(big.Float).SetPrec(precision).SetMantExp(x, n)
}

// series is Σ terms until they vanish; next makes the term n+1 from term n.
func series(first *big.Float, next func(term *big.Float, n int) *big.Float) *big.Float {
	sum, term := num(0), first
	for n := 0; term.Sign() != 0 && (sum.Sign() == 0 || term.MantExp(nil) > sum.MantExp(nil)-precision); n++ {
		sum = add(sum, term)
		term = next(term, n)
	}
	return sum
}

// bigExpm1 halves its argument until the series is short.
func bigExpm1(x *big.Float) *big.Float {
	const halvings = 16
	y := scale(x, -halvings-10)
	e := series(y, func(t *big.Float, n int) *big.Float { return quo(mul(t, y), num(float64(n+2))) })
	for range halvings + 10 {
		e = add(mul(e, e), scale(e, 1)) // (1 + e)² − 1
	}
	return e
}

func bigExp(x *big.Float) *big.Float {
	if x.Sign() < 0 { // else digits would cancel
		return quo(num(1), bigExp(new(big.Float).SetPrec(precision).Neg(x)))
	}
	return add(bigExpm1(x), num(1))
}

// bigArtanh is artanh s for |s| ≤ ½.
func bigArtanh(s *big.Float) *big.Float {
	z, p := mul(s, s), s
	return series(s, func(_ *big.Float, n int) *big.Float {
		p = mul(p, z)
		return quo(p, num(float64(2*n+3)))
	})
}

var bigLn2 = scale(bigArtanh(quo(num(1), num(3))), 1)

func bigLog(x *big.Float) *big.Float {
	m := new(big.Float).SetPrec(precision)
	e := x.MantExp(m)
	if m.Cmp(num(math.Sqrt2/2)) < 0 {
		m, e = scale(m, 1), e-1
	}
	s := quo(sub(m, num(1)), add(m, num(1)))
	return add(mul(num(float64(e)), bigLn2), scale(bigArtanh(s), 1))
}

// bigPi is Machin's.
var bigPi = func() *big.Float {
	arctan := func(inverse float64) *big.Float {
		x := quo(num(1), num(inverse))
		z, p := mul(x, x), x
		return series(x, func(_ *big.Float, n int) *big.Float {
			p = new(big.Float).SetPrec(precision).Neg(mul(p, z))
			return quo(p, num(float64(2*n+3)))
		})
	}
	return scale(sub(scale(arctan(5), 2), arctan(239)), 2)
}()

// bigSin is the sine of x + quarter·π/2.
func bigSin(x *big.Float, quarter int) *big.Float {
	half := scale(bigPi, -1)
	k, _ := quo(x, half).Float64()
	k = math.Round(k)
	r := sub(x, mul(num(k), half))
	z := mul(r, r)
	q := (int(math.Mod(k, 4)) + quarter + 4) % 4
	first, start := r, 1
	if q%2 == 1 {
		first, start = num(1), 0
	}
	s := series(first, func(t *big.Float, n int) *big.Float {
		a := float64(2*n + start)
		return new(big.Float).SetPrec(precision).Neg(quo(mul(t, z), num((a+1)*(a+2))))
	})
	if q >= 2 {
		s.Neg(s)
	}
	return s
}

func bigSqrt(x *big.Float) *big.Float { return new(big.Float).SetPrec(precision).Sqrt(x) }

// bigAtan halves the angle until the series is short.
func bigAtan(x *big.Float) *big.Float {
	const halvings = 12
	for range halvings {
		x = quo(x, add(num(1), bigSqrt(add(num(1), mul(x, x)))))
	}
	z, p := mul(x, x), x
	return scale(series(x, func(_ *big.Float, n int) *big.Float {
		p = new(big.Float).SetPrec(precision).Neg(mul(p, z))
		return quo(p, num(float64(2*n+3)))
	}), halvings)
}

// bigErf is 2/√π·exp(−x²)·Σ 2ⁿ x^(2n+1)/(2n+1)!!, of terms of one sign.
func bigErf(x *big.Float) *big.Float {
	z := mul(x, x)
	s := series(x, func(t *big.Float, n int) *big.Float { return quo(scale(mul(t, z), 1), num(float64(2*n+3))) })
	return quo(scale(mul(s, bigExp(new(big.Float).Neg(z))), 1), bigSqrt(bigPi))
}

func exactlyPair(b engine.Binary, v, w float64) *big.Float {
	x, y := num(v), num(w)
	switch b {
	case engine.Pow:
		return bigExp(mul(y, bigLog(x)))
	case engine.Atan2:
		a := bigAtan(quo(x, y))
		if w < 0 {
			if v < 0 {
				return sub(a, bigPi)
			}
			return add(a, bigPi)
		}
		return a
	case engine.LogAddExp:
		hi, d := x, sub(y, x)
		if v < w {
			hi, d = y, sub(x, y)
		}
		return add(hi, bigLog(add(num(1), bigExp(d))))
	}
	panic("no such function")
}

func exactly(u engine.Unary, v float64) *big.Float {
	x := num(v)
	switch u {
	case engine.Exp:
		return bigExp(x)
	case engine.Expm1:
		return bigExpm1(x)
	case engine.Log:
		return bigLog(x)
	case engine.Log1p:
		if math.Abs(v) < 0.5 {
			return scale(bigArtanh(quo(x, add(x, num(2)))), 1)
		}
		return bigLog(add(x, num(1)))
	case engine.Tanh:
		e := bigExpm1(scale(x, 1))
		return quo(e, add(e, num(2)))
	case engine.Sin:
		return bigSin(x, 0)
	case engine.Cos:
		return bigSin(x, 1)
	case engine.Tan:
		return quo(bigSin(x, 0), bigSin(x, 1))
	case engine.Asin:
		if math.Abs(v) == 1 {
			return mul(x, scale(bigPi, -1))
		}
		return bigAtan(quo(x, bigSqrt(mul(sub(num(1), x), add(num(1), x)))))
	case engine.Acos:
		if v == -1 {
			return bigPi
		}
		return scale(bigAtan(bigSqrt(quo(sub(num(1), x), add(num(1), x)))), 1)
	case engine.Atan:
		return bigAtan(x)
	case engine.Sinh:
		e := bigExpm1(new(big.Float).Abs(x))
		s := scale(add(e, quo(e, add(e, num(1)))), -1)
		if v < 0 {
			s.Neg(s)
		}
		return s
	case engine.Cosh:
		e := bigExp(x)
		return scale(add(e, quo(num(1), e)), -1)
	case engine.Erf:
		return bigErf(x)
	case engine.Sqrt:
		return bigSqrt(x)
	case engine.Rsqrt:
		return quo(num(1), bigSqrt(x))
	}
	panic("no such function")
}

func neg(x *big.Float) *big.Float { return new(big.Float).SetPrec(precision).Neg(x) }

// bigAtan2 is the angle of (x, y), x and y not both 0.
func bigAtan2(y, x *big.Float) *big.Float {
	if x.Sign() == 0 || x.MantExp(nil) < y.MantExp(nil) { // from the axis of y
		a := sub(scale(bigPi, -1), bigAtan(quo(x, new(big.Float).Abs(y))))
		if y.Sign() < 0 {
			return neg(a)
		}
		return a
	}
	a := bigAtan(quo(y, x))
	switch {
	case x.Sign() > 0:
		return a
	case y.Sign() < 0:
		return sub(a, bigPi)
	}
	return add(a, bigPi)
}

// bigComplex is a complex number.
type bigComplex struct{ re, im *big.Float }

func (z bigComplex) times(w bigComplex) bigComplex {
	return bigComplex{sub(mul(z.re, w.re), mul(z.im, w.im)), add(mul(z.re, w.im), mul(z.im, w.re))}
}

func (z bigComplex) over(w bigComplex) bigComplex {
	q := add(mul(w.re, w.re), mul(w.im, w.im))
	p := z.times(bigComplex{w.re, neg(w.im)})
	return bigComplex{quo(p.re, q), quo(p.im, q)}
}

// turned is iz, back −iz.
func (z bigComplex) turned() bigComplex { return bigComplex{neg(z.im), z.re} }
func (z bigComplex) back() bigComplex   { return bigComplex{z.im, neg(z.re)} }

func (z bigComplex) exp() bigComplex {
	e := bigExp(z.re)
	return bigComplex{mul(e, bigSin(z.im, 1)), mul(e, bigSin(z.im, 0))}
}

// hyperbolic are sinh x and cosh x.
func hyperbolic(x *big.Float) (sinh, cosh *big.Float) {
	e := bigExpm1(x)
	inverse := quo(e, add(e, num(1))) // 1 − e⁻ˣ
	return scale(add(e, inverse), -1), scale(add(sub(e, inverse), num(2)), -1)
}

func (z bigComplex) sinh() bigComplex {
	sinh, cosh := hyperbolic(z.re)
	return bigComplex{mul(sinh, bigSin(z.im, 1)), mul(cosh, bigSin(z.im, 0))}
}

func (z bigComplex) cosh() bigComplex {
	sinh, cosh := hyperbolic(z.re)
	return bigComplex{mul(cosh, bigSin(z.im, 1)), mul(sinh, bigSin(z.im, 0))}
}

func (z bigComplex) log() bigComplex {
	return bigComplex{scale(bigLog(add(mul(z.re, z.re), mul(z.im, z.im))), -1), bigAtan2(z.im, z.re)}
}

func (z bigComplex) sqrt() bigComplex {
	r := bigSqrt(add(mul(z.re, z.re), mul(z.im, z.im)))
	re, im := bigSqrt(scale(add(r, new(big.Float).Abs(z.re)), -1)), new(big.Float)
	if re.Sign() != 0 {
		im = quo(z.im, scale(re, 1))
	}
	switch {
	case z.re.Sign() >= 0:
		return bigComplex{re, im}
	case z.im.Sign() < 0:
		return bigComplex{neg(im), neg(re)}
	}
	return bigComplex{im, re}
}

// asin is −i ln(iz + √(1 − z²)), of the half plane where the two do not cancel.
func (z bigComplex) asin() bigComplex {
	if z.im.Sign() > 0 {
		w := bigComplex{neg(z.re), neg(z.im)}.asin()
		return bigComplex{neg(w.re), neg(w.im)}
	}
	q := z.times(z)
	s := bigComplex{sub(num(1), q.re), neg(q.im)}.sqrt()
	return bigComplex{sub(s.re, z.im), add(s.im, z.re)}.log().back()
}
