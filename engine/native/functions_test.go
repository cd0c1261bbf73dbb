package native

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/hataori/hataori-go/engine"
)

// accuracy is what each function keeps to, in units in the last place of
// float64, at every level; the page of operations repeats it.
var accuracy = map[engine.Unary]float64{
	engine.Exp: 2, engine.Expm1: 2, engine.Log: 1, engine.Log1p: 2, engine.Sinh: 3, engine.Cosh: 2, engine.Tanh: 3, engine.Sin: 2, engine.Cos: 2,
	engine.Tan: 4, engine.Asin: 3, engine.Acos: 2, engine.Atan: 2, engine.Erf: 2, engine.Rsqrt: 2, engine.Sqrt: 0.5,
}

// pairAccuracy is that of functions of two numbers; of LogAddExp in units of ½ or
// of the result, whichever is more.
var pairAccuracy = map[engine.Binary]float64{engine.Pow: 2, engine.Atan2: 2, engine.LogAddExp: 4}

// TestPairAccuracy measures them against arbitrary precision.
func TestPairAccuracy(t *testing.T) {
	count := 3000
	if testing.Short() {
		count = 300
	}
	for b, limit := range pairAccuracy {
		rnd := rand.New(rand.NewPCG(7, uint64(b)))
		x, y := pairs(b, count, rnd)
		want, unit := make([]*big.Float, len(x)), make([]float64, len(x))
		for i := range x {
			want[i] = exactlyPair(b, x[i], y[i])
			w, _ := want[i].Float64()
			if unit[i] = ulp(w); b == engine.LogAddExp {
				unit[i] = max(unit[i], ulp(0.5))
			}
		}
		for _, l := range levels() {
			got := make([]float64, len(x))
			f, past := binaryRows(l, b, engine.Float64)
			f(unsafe.Pointer(&got[0]), unsafe.Pointer(&x[0]), unsafe.Pointer(&y[0]), len(x), nil)
			if past != nil {
				samePast(t, b.Name(), l, past, x, y, got)
			}
			worst, at := 0.0, 0
			for i := range x {
				e := math.Abs(diff(got[i], want[i])) / unit[i]
				if w, _ := want[i].Float64(); got[i] != w && (math.IsNaN(got[i]) || math.IsInf(got[i], 0)) {
					e = math.Inf(1)
				}
				if e > worst {
					worst, at = e, i
				}
			}
			t.Logf("%s %v: %.3f ulp at %v, %v", b.Name(), l, worst, x[at], y[at])
			if !(worst <= limit) {
				t.Errorf("%s %v: of %v and %v is %v, want %.20g: %.3f ulp apart, allowed %g", b.Name(), l, x[at], y[at], got[at], want[at], worst, limit)
			}
		}
	}
}

// pairs covers magnitudes and the neighbourhoods where a function of two numbers
// changes its course.
func pairs(b engine.Binary, n int, rnd *rand.Rand) (x, y []float64) {
	put := func(v, w float64) { x, y = append(x, v), append(y, w) }
	for len(x) < n {
		u, v, near := rnd.Float64()*2-1, rnd.Float64()*2-1, 1+math.Exp(-rnd.Float64()*30)*(rnd.Float64()-0.5)
		switch b {
		case engine.Pow:
			base := math.Exp(700 * u)
			put(base, 740*v/math.Log(base)) // results over the whole range
			put(near, v*740/math.Abs(math.Log(near)+1e-300))
			put(math.Exp(3*u), 20*v)
			put(math.Exp(8*u), float64(rnd.IntN(21)-10))
			put(base, v)
		case engine.Atan2:
			put(u, v)
			put(u*math.Exp(300*v), v*math.Exp(300*rnd.Float64()))
			put(u, u*near)
			put(math.Exp(-40*rnd.Float64())*u, v)
			put(u, -math.Exp(-40*rnd.Float64())*v)
		default:
			put(u*700, v*700)
			put(u, v)
			put(u*1e3, u*1e3+v*40)
			put(-rnd.Float64(), math.Log(-math.Expm1(-rnd.Float64()-0x1p-30))) // sums around 1
		}
	}
	return x, y
}

// TestAccuracy measures the functions against arbitrary precision.
func TestAccuracy(t *testing.T) {
	count := 4000
	if testing.Short() {
		count = 300
	}
	for u, limit := range accuracy {
		rnd := rand.New(rand.NewPCG(5, uint64(u)))
		x := arguments(u, count, rnd)
		want := make([]*big.Float, len(x))
		for i := range x {
			want[i] = exactly(u, x[i])
		}
		for _, l := range levels() {
			got := make([]float64, len(x))
			f, past := unaryRow(l, u, engine.Float64)
			f(unsafe.Pointer(&got[0]), unsafe.Pointer(&x[0]), nil, len(x), nil)
			if past != nil {
				samePast(t, u.Name(), l, past, x, nil, got)
			}
			worst, at := 0.0, 0
			for i := range x {
				if e := ulps(got[i], want[i]); e > worst {
					worst, at = e, i
				}
			}
			t.Logf("%s %v: %.3f ulp at %v", u.Name(), l, worst, x[at])
			if !(worst <= limit) {
				t.Errorf("%s %v: %v is %v, want %.20g: %.3f ulp apart, allowed %g", u.Name(), l, x[at], got[at], want[at], worst, limit)
			}
		}
	}
}

// samePast checks that a row past the caches has the bits of the plain one.
func samePast(t *testing.T, name string, l Level, past row, x, y, want []float64) {
	t.Helper()
	n := len(x) &^ 7
	b := engine.AlignedBytes(8 * n)
	got := unsafe.Slice((*float64)(unsafe.Pointer(&b[0])), n)
	past(unsafe.Pointer(&b[0]), unsafe.Pointer(&x[0]), unsafe.Pointer(unsafe.SliceData(y)), n, nil)
	storeFence()
	for i, v := range got {
		if math.Float64bits(v) != math.Float64bits(want[i]) {
			t.Fatalf("%s %v past the caches: %v is %v, else %v", name, l, x[i], v, want[i])
		}
	}
}

// arguments covers the range of a function: its edges, all magnitudes, and the
// neighbourhood of where it vanishes.
func arguments(u engine.Unary, n int, rnd *rand.Rand) []float64 {
	var x []float64
	signed := func(v float64) float64 {
		if rnd.IntN(2) == 0 {
			return -v
		}
		return v
	}
	for len(x) < n {
		tiny := math.Exp(-rnd.Float64() * 40)
		switch u {
		case engine.Exp:
			x = append(x, signed(rnd.Float64()*745), 709+rnd.Float64()*0.78, signed(tiny), signed(rnd.Float64()))
		case engine.Expm1:
			x = append(x, signed(rnd.Float64()*709), signed(tiny), signed(rnd.Float64()*2))
		case engine.Log:
			x = append(x, math.Exp(signed(rnd.Float64()*700)), 1+signed(rnd.Float64()/2), 1+signed(tiny)/2, math.Float64frombits(rnd.Uint64N(0x7ff<<52)))
		case engine.Log1p:
			x = append(x, math.Exp(signed(rnd.Float64()*700)), signed(rnd.Float64()), signed(tiny), -1+math.Max(tiny, 0x1p-53))
		case engine.Tanh:
			x = append(x, signed(rnd.Float64()*25), signed(tiny), signed(rnd.Float64()))
		case engine.Sinh, engine.Cosh:
			x = append(x, signed(rnd.Float64()*710), signed(tiny), signed(rnd.Float64()*2))
		case engine.Asin, engine.Acos:
			x = append(x, signed(rnd.Float64()), signed(tiny), signed(1-tiny/2), signed(0.5+tiny*(rnd.Float64()-0.5)))
		case engine.Atan:
			x = append(x, signed(math.Exp(signed(rnd.Float64()*700))), signed(tiny), signed(rnd.Float64()*3), signed(0.41421356237309503*(1+tiny)), signed(2.414213562373095*(1-tiny)))
		case engine.Erf:
			x = append(x, signed(rnd.Float64()*6.5), signed(tiny), signed(rnd.Float64()*1.2), signed(math.Exp(-rnd.Float64()*700)))
		case engine.Sin, engine.Cos, engine.Tan:
			k := math.Floor(rnd.Float64() * 1e5)
			far := math.Exp(rnd.Float64() * 35)
			x = append(x, signed(rnd.Float64()*10), signed(tiny), signed(rnd.Float64()*1e6), k*math.Pi/2, signed(rnd.Float64()*1.6),
				signed(far), math.Floor(far)*math.Pi/2)
		default:
			x = append(x, math.Exp(signed(rnd.Float64()*700)), rnd.Float64())
		}
	}
	return x
}

// ulps is |got − want| in units in the last place of want.
func ulps(got float64, want *big.Float) float64 {
	w, _ := want.Float64()
	if got == w {
		return math.Abs(diff(got, want)) / ulp(w)
	}
	if math.IsNaN(got) || math.IsInf(got, 0) {
		return math.Inf(1)
	}
	return math.Abs(diff(got, want)) / ulp(w)
}

func ulp(w float64) float64 {
	_, e := math.Frexp(w)
	return math.Max(math.Ldexp(1, e-53), math.SmallestNonzeroFloat64)
}

func diff(got float64, want *big.Float) float64 {
	if math.IsInf(got, 0) {
		return 0 // as want is
	}
	d, _ := new(big.Float).Sub(new(big.Float).SetPrec(precision).SetFloat64(got), want).Float64()
	return d
}

// TestExtremes holds the spans of maxima and minima to the greatest and least
// element, zeros of either sign and NaN among them.
func TestExtremes(t *testing.T) {
	t.Run("float32", testExtremes[float32])
	t.Run("float64", testExtremes[float64])
}

func testExtremes[T float](t *testing.T) {
	rnd := rand.New(rand.NewPCG(8, 9))
	negative := T(math.Copysign(0, -1))
	for n := range 300 {
		if n == 0 {
			continue
		}
		x := make([]T, n)
		kind := n % 5
		for i := range x {
			switch kind {
			case 0: // of one sign
				x[i] = -1 - T(rnd.Float64())
			case 1:
				x[i] = []T{0, negative, -1, 1}[rnd.IntN(4)]
			case 2:
				x[i] = []T{0, negative}[rnd.IntN(2)]
			default:
				x[i] = T(rnd.NormFloat64())
			}
		}
		if kind == 3 {
			x[rnd.IntN(n)] = T(math.NaN())
		}
		if kind == 4 {
			x[rnd.IntN(n)] = T(math.Inf(1 - 2*rnd.IntN(2)))
		}
		for _, f := range []engine.Reduction{engine.ReduceMax, engine.ReduceMin} {
			want := slices.Max(x)
			if f == engine.ReduceMin {
				want = slices.Min(x)
			}
			for _, l := range levels() {
				var got T
				p := l.NewFold(f, engine.DTypeOf[T](), nil, nil, nil, []int{n}, []int{1})
				p.Run(new(Workspace), unsafe.Pointer(&got), unsafe.Pointer(&x[0]), 0, p.Items())
				if got != want && (got == got || want == want) || math.Signbit(float64(got)) != math.Signbit(float64(want)) && want == want {
					t.Fatalf("%v of %d at %v: %v, want %v", f, n, l, got, want)
				}
			}
		}
	}
}
