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
	count := 300
	if testing.Short() {
		count = 60
	}
	const limit = 8
	for u := range complexFunctions {
		if u == engine.Sign || u == engine.Rsqrt {
			continue
		}
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
	x := bigComplex{num(real(z)), num(imag(z))}
	var w bigComplex
	switch u {
	case engine.Exp:
		w = x.exp()
	case engine.Log:
		w = x.log()
	case engine.Sqrt:
		w = x.sqrt()
	case engine.Sinh:
		w = x.sinh()
	case engine.Sin:
		w = x.turned().sinh().back()
	case engine.Cosh:
		w = x.cosh()
	case engine.Cos:
		w = x.turned().cosh()
	case engine.Tanh:
		w = x.sinh().over(x.cosh())
	case engine.Tan:
		w = x.turned()
		w = w.sinh().over(w.cosh()).back()
	case engine.Asin:
		w = x.asin()
	case engine.Acos:
		w = x.asin()
		w = bigComplex{sub(scale(bigPi, -1), w.re), neg(w.im)}
	case engine.Atan: // i/2·ln((i + z)/(i − z)), all but π
		w = bigComplex{x.re, add(num(1), x.im)}.over(bigComplex{neg(x.re), sub(num(1), x.im)}).log()
		w = bigComplex{neg(scale(w.im, -1)), scale(w.re, -1)}
		if w.re.Sign()*x.re.Sign() < 0 {
			w.re = add(w.re, mul(num(math.Copysign(1, real(z))), bigPi))
		}
	}
	return w.re, w.im
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
