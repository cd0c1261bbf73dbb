package elementary

import (
	"math"
	"math/bits"
)

const (
	// π/2 as a sum of three numbers, of an error below 2^-163.
	halfPi1, halfPi2, halfPi3 = 0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110

	// Near is how far they suffice: the first difference with a multiple is exact,
	// and no float64 below lies so near to one that the error would show.
	Near = 1 << 30
)

// twoByPi are the binary digits of 2/π, after 64 zeros.
var twoByPi = [20]uint64{0x0, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0,
	0x6492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b,
	0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b, 0x3d0739f78a5292ea,
	0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab}

// reduce is x = k·π/2 + r for finite x, |r| ≤ π/4 but for rounding, k modulo 4.
func reduce(x float64) (k int, r float64) {
	if math.Abs(x) > Near {
		return reduceFar(x)
	}
	f := math.RoundToEven(x * (2 / math.Pi))
	r = math.FMA(-f, halfPi1, x)
	r = math.FMA(-f, halfPi2, r)
	return int(f), math.FMA(-f, halfPi3, r)
}

// reduceFar multiplies by those digits of 2/π that matter: not the ones that
// make multiples of four, nor those far behind the point (M. Payne and R. Hanek,
// Radian reduction for trigonometric functions).
func reduceFar(x float64) (k int, r float64) {
	fraction, exp := math.Frexp(math.Abs(x))
	m := uint64(fraction * (1 << 53))
	var w [3]uint64 // 192 digits, the first of which makes the twos of the product
	at := exp - 53 + 62
	for i := range w {
		w[i] = twoByPi[at/64+i]<<(at%64) | twoByPi[at/64+i+1]>>(64-at%64)
	}
	high, low := bits.Mul64(m, w[2])
	carried, middle := bits.Mul64(m, w[1])
	middle, carry := bits.Add64(middle, high, 0)
	top := m*w[0] + carried + carry

	k = int(top >> 62)
	a, b, c := top<<2|middle>>62, middle<<2|low>>62, low<<2 // the fraction
	over := a>>63 != 0
	if over { // of more than a half: from above
		k++
		c, carry = bits.Sub64(0, c, 0)
		b, carry = bits.Sub64(0, b, carry)
		a, _ = bits.Sub64(0, a, carry)
	}
	n := bits.LeadingZeros64(a)
	a, b = a<<n|b>>(64-n), b<<n|c>>(64-n)
	f := math.Ldexp(float64(a>>11), 11-64-n)
	rest := math.Ldexp(float64(a<<53|b>>11), 11-128-n)
	p := f * halfPi1
	r = p + (math.FMA(f, halfPi1, -p) + f*halfPi2 + rest*halfPi1)
	if over {
		r = -r
	}
	if x < 0 {
		return -k, -r
	}
	return k, r
}
