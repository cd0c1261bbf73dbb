package native

import (
	"math"
	"math/big"
	"math/cmplx"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/hataori/hataori-go/engine"
)

// TestComplexAccuracy measures complex functions against arbitrary precision, in
// units in the last place of the modulus.
func TestComplexAccuracy(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	count := 600
	if testing.Short() {
		count = 200
	}
	const limit = 8
	for _, u := range []engine.Unary{engine.Exp, engine.Tanh} {
		z := complexArguments(count, rnd)
		for _, l := range levels() {
			got := make([]complex128, len(z))
			f, _ := unaryRow(l, u, engine.Complex128)
			f(unsafe.Pointer(&got[0]), unsafe.Pointer(&z[0]), nil, len(z), nil)
			worst, at := 0.0, 0
			for i, v := range z {
				re, im := complexly(u, v)
				wantRe, _ := re.Float64()
				wantIm, _ := im.Float64()
				if e := math.Hypot(diff(real(got[i]), re), diff(imag(got[i]), im)) / ulp(math.Hypot(wantRe, wantIm)); !(e <= worst) {
					worst, at = e, i
				}
			}
			t.Logf("%s %v: %.3f ulp at %v", u.Name(), l, worst, z[at])
			if !(worst <= limit) {
				t.Errorf("%s %v: %v is %v: %.3f ulp apart, allowed %v", u.Name(), l, z[at], got[at], worst, limit)
			}
		}
	}
}

func complexArguments(n int, rnd *rand.Rand) (z []complex128) {
	part := func() float64 {
		x := rnd.NormFloat64()
		switch rnd.IntN(4) {
		case 0:
			return x * math.Exp(-rnd.Float64()*40)
		case 1:
			return x * 20
		case 2:
			return float64(rnd.IntN(200)-100)*math.Pi/2 + x*math.Exp(-rnd.Float64()*30)
		}
		return x
	}
	for range n {
		z = append(z, complex(part(), part()))
	}
	return z
}

// complexly is u of z.
func complexly(u engine.Unary, z complex128) (re, im *big.Float) {
	sin, cos := bigSin(num(imag(z)), 0), bigSin(num(imag(z)), 1)
	if u == engine.Exp {
		e := bigExp(num(real(z)))
		return mul(e, cos), mul(e, sin)
	}
	e := bigExpm1(num(real(z)))
	inverse := quo(e, add(e, num(1))) // 1 − e⁻ˣ
	sinh, cosh := scale(add(e, inverse), -1), scale(add(sub(e, inverse), num(2)), -1)
	q := add(mul(sinh, sinh), mul(cos, cos))
	return quo(mul(sinh, cosh), q), quo(mul(sin, cos), q)
}

// Special values take the ways of the portable functions, whatever lies beside
// them in a vector.
func TestComplexSpecials(t *testing.T) {
	values := []float64{0, math.Copysign(0, -1), 1, -2, 25, -700, 1e-310, math.Inf(1), math.Inf(-1), math.NaN(), 1e300}
	var z []complex128
	for _, x := range values {
		for _, y := range values {
			z = append(z, complex(x, y), complex(0.5, 0.25))
		}
	}
	for _, u := range []engine.Unary{engine.Exp, engine.Tanh} {
		want := make([]complex128, len(z))
		portable, _ := unaryRow(Portable, u, engine.Complex128)
		portable(unsafe.Pointer(&want[0]), unsafe.Pointer(&z[0]), nil, len(z), nil)
		for _, l := range levels() {
			got := make([]complex128, len(z))
			f, _ := unaryRow(l, u, engine.Complex128)
			f(unsafe.Pointer(&got[0]), unsafe.Pointer(&z[0]), nil, len(z), nil)
			for i := range z {
				if !alike(real(got[i]), real(want[i]), cmplx.Abs(want[i])) || !alike(imag(got[i]), imag(want[i]), cmplx.Abs(want[i])) {
					t.Errorf("%s %v of %v is %v, want %v", u.Name(), l, z[i], got[i], want[i])
				}
			}
		}
	}
}

// alike compares parts of numbers of a modulus: specials exactly, with the signs of
// zeros, others to some units in the last place.
func alike(a, b, modulus float64) bool {
	if a != a || b != b || a == 0 || b == 0 || math.IsInf(a, 0) || math.IsInf(b, 0) {
		return a == b && math.Signbit(a) == math.Signbit(b) || a != a && b != b
	}
	return math.Abs(a-b) <= 16*ulp(modulus)
}
