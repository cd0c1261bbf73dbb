package native

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/hataori/hataori-go/engine"
)

// TestTests wants of every row of truth values what the operators of Go say, for every
// length around the groups of vectors, and nothing written behind.
func TestTests(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	t.Run("float64", testTests[float64](inf, -inf, nan, 0, math.Copysign(0, -1), 1, -1, 5e-324, math.MaxFloat64))
	t.Run("float32", testTests[float32](float32(inf), float32(-inf), float32(nan), 0, float32(math.Copysign(0, -1)), 1, -1, 1e-45, math.MaxFloat32))
	t.Run("int64", testTests[int64](0, 1, -1, math.MaxInt64, math.MinInt64, 1<<32, 1<<31))
	t.Run("int32", testTests[int32](0, 1, -1, math.MaxInt32, math.MinInt32))
}

func testTests[T interface {
	realNumber
	engine.Element
}](values ...T) func(*testing.T) {
	return func(t *testing.T) {
		rnd := rand.New(rand.NewPCG(1, 2))
		d := engine.DTypeOf[T]()
		for _, l := range levels() {
			for n := range 140 {
				x, y := make([]T, n+1), make([]T, n+1)
				for i := range x {
					x[i], y[i] = values[rnd.IntN(len(values))], values[rnd.IntN(len(values))]
				}
				for b, want := range map[engine.Binary]func(x, y T) bool{
					engine.Equal: func(x, y T) bool { return x == y }, engine.NotEqual: func(x, y T) bool { return x != y },
					engine.Less: func(x, y T) bool { return x < y }, engine.LessEqual: func(x, y T) bool { return x <= y },
					engine.Greater: func(x, y T) bool { return x > y }, engine.GreaterEqual: func(x, y T) bool { return x >= y },
				} {
					f, _ := binaryRows(l, b, d)
					checkTest(t, b.Name(), l, f, x, y, n, want)
				}
				if d.IsFloat() {
					f, _ := unaryRow(l, engine.IsNaN, d)
					checkTest(t, "IsNaN", l, f, x, y, n, func(x, _ T) bool { return math.IsNaN(float64(x)) })
					f, _ = unaryRow(l, engine.IsFinite, d)
					checkTest(t, "IsFinite", l, f, x, y, n, func(x, _ T) bool { return !math.IsNaN(float64(x)) && !math.IsInf(float64(x), 0) })
				}
				checkSelect(t, l, d, x, y, n, rnd)
			}
		}
	}
}

const guard = 77 // no truth value

func checkTest[T any](t *testing.T, name string, l Level, f row, x, y []T, n int, want func(x, y T) bool) {
	t.Helper()
	got := make([]byte, n+1)
	for i := range got {
		got[i] = guard
	}
	f(unsafe.Pointer(&got[0]), unsafe.Pointer(&x[0]), unsafe.Pointer(&y[0]), n, nil)
	for i := range n {
		w := byte(0)
		if want(x[i], y[i]) {
			w = 1
		}
		if got[i] != w {
			t.Fatalf("%s %v of %v and %v is %d", name, l, x[i], y[i], got[i])
		}
	}
	if got[n] != guard {
		t.Fatalf("%s %v wrote behind %d elements", name, l, n)
	}
}

func checkSelect[T comparable](t *testing.T, l Level, d engine.DType, x, y []T, n int, rnd *rand.Rand) {
	t.Helper()
	p, got := make([]bool, n+1), make([]T, n+1)
	for i := range p {
		p[i] = rnd.IntN(2) == 0
	}
	got[n] = x[n]
	ternaryRow(l, engine.Select, d)(unsafe.Pointer(&got[0]), unsafe.Pointer(&p[0]), unsafe.Pointer(&x[0]), unsafe.Pointer(&y[0]), n)
	for i := range n {
		w := y[i]
		if p[i] {
			w = x[i]
		}
		if got[i] != w && (w == w || got[i] == got[i]) {
			t.Fatalf("Select %v of %v, %v and %v is %v", l, p[i], x[i], y[i], got[i])
		}
	}
	if got[n] != x[n] && x[n] == x[n] {
		t.Fatalf("Select %v wrote behind %d elements", l, n)
	}
}

// TestLogic does so for truth values.
func TestLogic(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for _, l := range levels() {
		for n := range 140 {
			x, y := make([]bool, n+1), make([]bool, n+1)
			for i := range x {
				x[i], y[i] = rnd.IntN(2) == 0, rnd.IntN(2) == 0
			}
			for b, want := range map[engine.Binary]func(x, y bool) bool{
				engine.And: func(x, y bool) bool { return x && y }, engine.Or: func(x, y bool) bool { return x || y },
				engine.Xor: func(x, y bool) bool { return x != y }, engine.Equal: func(x, y bool) bool { return x == y },
				engine.NotEqual: func(x, y bool) bool { return x != y },
			} {
				f, _ := binaryRows(l, b, engine.Bool)
				checkTest(t, b.Name(), l, f, x, y, n, want)
			}
			f, _ := unaryRow(l, engine.Not, engine.Bool)
			checkTest(t, "Not", l, f, x, y, n, func(x, _ bool) bool { return !x })
			checkSelect(t, l, engine.Bool, x, y, n, rnd)
		}
	}
}
