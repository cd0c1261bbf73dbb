package elementary

import "math"

// The constants are those of the vectors in native/internal/gen/functions.go.
const (
	ln2Hi, ln2Lo     = 0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56
	ln2Head, ln2Tail = 0x1.62e42fefa3800p-1, 0x1.ef35793c76730p-45 // the first times an exponent is exact
)

var powPoly = [...]float64{0.4, 0.28571428571429364, 0.22222222221656232, 0.18181818335314404, 0.15384594970895457,
	0.13334804238225345, 0.11706248540922386, 0.11723051028097753}

// Pow is x^y to about a unit in the last place. math.Pow, which multiplies, loses
// all digits of numbers near 1 to large powers; its special cases are these.
func Pow(x, y float64) float64 {
	whole := math.Trunc(y) == y
	switch {
	case x == 0 || y == 0 || x-x != 0 || y-y != 0 || x < 0 && !whole:
		return math.Pow(x, y)
	case x < 0 && math.Abs(y) < 1<<53 && int64(y)&1 != 0:
		return -powOf(-x, y)
	}
	return powOf(math.Abs(x), y)
}

// powOf is exp(y·ln x) for x > 0, the logarithm and the product kept as sums of
// two numbers.
func powOf(x, y float64) float64 {
	h, l := logPair(x)
	p := y * h
	switch {
	case p > 710:
		return math.Inf(1)
	case p < -746:
		return 0
	}
	q := math.FMA(y, l, math.FMA(y, h, -p))
	k := math.RoundToEven(p * math.Log2E)
	r := math.FMA(-k, ln2Lo, math.FMA(-k, ln2Hi, p)) + q
	return math.Ldexp(1+math.Expm1(r), int(k))
}

// logPair is ln x = h + l for x > 0: k·ln 2 + 2s + ⅔s³ + s⁵·P(s²) with
// s = f/(2 + f) and x = 2ᵏ(1 + f), where all but the last term is a sum of two
// numbers.
func logPair(x float64) (h, l float64) {
	const head, tail = 0x1.5555555555555p-1, 0x1.5555555555555p-55 // ⅔
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, e = 2*m, e-1
	}
	k, f := float64(e), m-1
	d := f + 2
	lost := f - (d - 2)
	s := f / d
	sl := math.FMA(-s, lost, math.FMA(-s, d, f)) / d
	z := s * s
	zl := math.FMA(s, s, -z)
	c := z * s
	cl := math.FMA(3*z, sl, math.FMA(zl, s, math.FMA(z, s, -c)))
	a := c * head
	low := math.FMA(cl, head, math.FMA(c, tail, math.FMA(c, head, -a)))
	sum := powPoly[len(powPoly)-1]
	for i := len(powPoly) - 2; i >= 0; i-- {
		sum = math.FMA(sum, z, powPoly[i])
	}
	low += c*(z*sum) + k*ln2Tail + 2*sl
	big, two := k*ln2Head, 2*s
	most := big + two
	low += two - (most - big)
	all := most + a
	low += a - (all - most)
	h = all + low
	return h, low - (h - all)
}
