package blas

import (
	"math"
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"
	"unsafe"

	"github.com/hataori/hataori-go/engine"
	"pgregory.net/rapid"
)

// open returns the library that the tests run on, or skips where there is none.
func open(t testing.TB) *Provider {
	t.Helper()
	p, err := Open(Options{})
	if err != nil {
		t.Skipf("no BLAS here: %v", err)
	}
	return p
}

type number interface {
	float32 | float64 | complex64 | complex128
}

func fromComplex[T number](z complex128) T {
	var x T
	switch p := any(&x).(type) {
	case *float32:
		*p = float32(real(z))
	case *float64:
		*p = real(z)
	case *complex64:
		*p = complex64(z)
	case *complex128:
		*p = z
	}
	return x
}

func toComplex[T number](x T) complex128 {
	switch v := any(x).(type) {
	case float32:
		return complex(float64(v), 0)
	case float64:
		return complex(v, 0)
	case complex64:
		return complex128(v)
	case complex128:
		return v
	}
	panic("unreachable")
}

// batch is a drawn operand: a matrix per batch member over data.
type batch[T number] struct {
	data []T
	off  int
	m    engine.Matrix
}

func (b batch[T]) at(i, j, n int) *T {
	return &b.data[b.off+i*b.m.Row+j*b.m.Col+n*b.m.Batch]
}

// drawBatch draws small integers, whose products add up without rounding, in a
// layout that a BLAS can read: by rows or columns, with padding.
func drawBatch[T number](t *rapid.T, r *rand.Rand, name string, rows, cols, count int) batch[T] {
	inner, outer := cols, rows
	byCol := rapid.Bool().Draw(t, name+" by columns")
	if byCol {
		inner, outer = rows, cols
	}
	ld := max(inner, 1) + rapid.IntRange(0, 3).Draw(t, name+" pad")
	gap := ld*max(outer, 1) + rapid.IntRange(0, 2).Draw(t, name+" gap")
	b := batch[T]{data: make([]T, gap*count+3), off: rapid.IntRange(0, 2).Draw(t, name+" offset")}
	for i := range b.data {
		b.data[i] = fromComplex[T](complex(float64(r.IntN(9)-4), float64(r.IntN(9)-4)))
	}
	b.m = engine.Matrix{P: unsafe.Pointer(&b.data[b.off]), Row: ld, Col: 1, Batch: gap}
	if byCol {
		b.m.Row, b.m.Col = 1, ld
	}
	return b
}

func testProduct[T number](t *rapid.T, prods engine.Products, p *Provider) {
	dim := rapid.OneOf(rapid.IntRange(0, 8), rapid.IntRange(0, 40))
	m, n, k := dim.Draw(t, "m"), dim.Draw(t, "n"), dim.Draw(t, "k")
	count := rapid.IntRange(1, 3).Draw(t, "batch")
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	a, b, c := drawBatch[T](t, r, "A", m, k, count), drawBatch[T](t, r, "B", k, n, count), drawBatch[T](t, r, "C", m, n, count)
	scalars := rapid.SampledFrom([]complex128{1, 0, -1, 2 - 3i})
	var z T
	g := &engine.Gemm{
		DType: engine.DTypeOf[T](), ConjA: rapid.Bool().Draw(t, "conj A"), ConjB: rapid.Bool().Draw(t, "conj B"),
		M: m, N: n, K: k, Batch: count,
		Alpha: toComplex(fromComplex[T](scalars.Draw(t, "alpha"))), Beta: toComplex(fromComplex[T](scalars.Draw(t, "beta"))),
		A: a.m, B: b.m, C: c.m,
	}
	want := append([]T(nil), c.data...)
	w := c
	w.data = want
	for q := range count {
		for i := range m {
			for j := range n {
				var s complex128
				for l := range k {
					x, y := toComplex(*a.at(i, l, q)), toComplex(*b.at(l, j, q))
					if g.ConjA {
						x = complex(real(x), -imag(x))
					}
					if g.ConjB {
						y = complex(real(y), -imag(y))
					}
					s += x * y
				}
				s *= g.Alpha
				if g.Beta != 0 {
					s += g.Beta * toComplex(*w.at(i, j, q))
				} else {
					*c.at(i, j, q) = fromComplex[T](complex(math.NaN(), math.NaN())) // C is not read
				}
				*w.at(i, j, q) = fromComplex[T](s)
			}
		}
	}
	bad := p.Fit(g)
	if !g.DType.IsComplex() && bad != 0 {
		t.Fatalf("real operands by rows or columns do not fit: %03b", bad)
	}
	if bad != 0 {
		return // conjugation without transposition; TestFit has it
	}
	before := append([]T(nil), c.data...)
	check := func(how string) {
		for i := range want {
			if c.data[i] != want[i] {
				t.Fatalf("%s: %T %d×%d×%d ×%d, element %d: got %v, want %v", how, z, m, n, k, count, i, c.data[i], want[i])
			}
		}
		copy(c.data, before)
	}
	prods.Gemm(g)
	check("a call")
	plan := p.Plan(g)
	if empty := m*n*k == 0 || g.Alpha == 0; empty != (plan == nil) {
		t.Fatalf("%T %d×%d×%d, alpha %v: planned is %v", z, m, n, k, g.Alpha, plan != nil)
	}
	if plan != nil {
		plan.Run(prods, g.C.P, g.A.P, g.B.P, count)
		check("a plan")
	}
}

func TestProducts(t *testing.T) {
	p := open(t)
	prods := p.Open()
	t.Run("float32", func(t *testing.T) { rapid.Check(t, func(t *rapid.T) { testProduct[float32](t, prods, p) }) })
	t.Run("float64", func(t *testing.T) { rapid.Check(t, func(t *rapid.T) { testProduct[float64](t, prods, p) }) })
	t.Run("complex64", func(t *testing.T) { rapid.Check(t, func(t *rapid.T) { testProduct[complex64](t, prods, p) }) })
	t.Run("complex128", func(t *testing.T) { rapid.Check(t, func(t *rapid.T) { testProduct[complex128](t, prods, p) }) })
}

// TestPieces lowers the limit of integers so that products are cut.
func TestPieces(t *testing.T) {
	p := *open(t)
	p.max = 13 // leading dimensions of the drawn operands would not fit
	small := func(prods *products) engine.Products { prods.p = &p; return prods }
	prods := small(p.Open().(*products))
	const m, n, k = 11, 13, 13
	r := rand.New(rand.NewPCG(1, 1))
	x, y, z := make([]complex64, m*k), make([]complex64, k*n), make([]complex64, m*n)
	for i := range x {
		x[i] = complex(float32(r.IntN(9)-4), float32(r.IntN(9)-4))
	}
	for i := range y {
		y[i] = complex(float32(r.IntN(9)-4), float32(r.IntN(9)-4))
	}
	p.max = 13
	g := &engine.Gemm{DType: engine.Complex64, M: m, N: n, K: k, Batch: 1, Alpha: 1,
		A: engine.Matrix{P: unsafe.Pointer(&x[0]), Row: k, Col: 1}, B: engine.Matrix{P: unsafe.Pointer(&y[0]), Row: n, Col: 1},
		C: engine.Matrix{P: unsafe.Pointer(&z[0]), Row: n, Col: 1}}
	prods.Gemm(g)
	whole := append([]complex64(nil), z...)
	w, bad := p.layout(g)
	if bad != 0 {
		t.Fatal(bad)
	}
	clear(z)
	c := prods.(*products)
	c.by.scalars(g)
	c.a, c.b, c.c = g.A.P, g.B.P, g.C.P
	p.max = 5
	c.pieces(g, w, index(g.DType), 8, false)
	if !reflect.DeepEqual(z, whole) {
		t.Error("a product in pieces differs from the whole, which is exact")
	}
}

func TestFit(t *testing.T) {
	p := open(t)
	rowMajor := func(cols int) engine.Matrix { return engine.Matrix{Row: cols, Col: 1} }
	colMajor := func(rows int) engine.Matrix { return engine.Matrix{Row: 1, Col: rows} }
	base := engine.Gemm{DType: engine.Complex128, M: 4, N: 5, K: 6, Batch: 1, Alpha: 1,
		A: rowMajor(6), B: rowMajor(5), C: rowMajor(5)}
	for name, c := range map[string]struct {
		edit func(*engine.Gemm)
		want engine.Misfit
	}{
		"compact":                  {func(*engine.Gemm) {}, 0},
		"all by columns":           {func(g *engine.Gemm) { g.A, g.B, g.C = colMajor(4), colMajor(6), colMajor(4) }, 0},
		"conj rows":                {func(g *engine.Gemm) { g.ConjA = true }, engine.MisfitA},
		"conj columns":             {func(g *engine.Gemm) { g.ConjB, g.B = true, colMajor(6) }, 0},
		"conj rows, C by columns":  {func(g *engine.Gemm) { g.ConjA, g.C = true, colMajor(4) }, 0},
		"real conj is nothing":     {func(g *engine.Gemm) { g.DType, g.ConjA, g.ConjB = engine.Float64, true, true }, 0},
		"two strides":              {func(g *engine.Gemm) { g.A = engine.Matrix{Row: 12, Col: 2} }, engine.MisfitA},
		"negative":                 {func(g *engine.Gemm) { g.B = engine.Matrix{Row: -5, Col: 1} }, engine.MisfitB},
		"repeated row":             {func(g *engine.Gemm) { g.B = engine.Matrix{Row: 0, Col: 1} }, engine.MisfitB},
		"overlapping rows":         {func(g *engine.Gemm) { g.A = engine.Matrix{Row: 5, Col: 1} }, engine.MisfitA},
		"C with two strides":       {func(g *engine.Gemm) { g.C = engine.Matrix{Row: 10, Col: 2} }, engine.MisfitC},
		"everything":               {func(g *engine.Gemm) { g.A.Col, g.B.Col, g.C.Col = 2, 2, 2 }, engine.MisfitA | engine.MisfitB | engine.MisfitC},
		"extent 1 frees a stride":  {func(g *engine.Gemm) { g.M, g.A, g.C = 1, engine.Matrix{Row: -3, Col: 7}, engine.Matrix{Row: 0, Col: 1} }, 0},
		"a vector, conjugated":     {func(g *engine.Gemm) { g.M, g.ConjA, g.A, g.C = 1, true, rowMajor(6), rowMajor(5) }, 0},
		"too long for 32-bit rows": {func(g *engine.Gemm) { g.A = rowMajor(math.MaxInt32 + 1) }, wideMisfit(p)},
	} {
		g := base
		c.edit(&g)
		if got := p.Fit(&g); got != c.want {
			t.Errorf("%s: misfit %03b, want %03b", name, got, c.want)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("Gemm took a product that Fit denies")
		}
	}()
	g := base
	g.ConjA = true
	p.Open().Gemm(&g)
}

func wideMisfit(p *Provider) engine.Misfit {
	if p.Info().IntBits == 64 {
		return 0
	}
	return engine.MisfitA
}

// TestWorkersShareNothing runs several workers at once, for the race detector
// and for results that leak from one to another.
func TestWorkersShareNothing(t *testing.T) {
	p := open(t)
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			prods := p.Open()
			const n = 20
			x, z := make([]float64, n*n), make([]float64, n*n)
			for i := range n {
				x[i*n+i] = float64(w + 1)
			}
			row := func(s []float64) engine.Matrix { return engine.Matrix{P: unsafe.Pointer(&s[0]), Row: n, Col: 1} }
			for range 200 {
				prods.Gemm(&engine.Gemm{DType: engine.Float64, M: n, N: n, K: n, Batch: 1, Alpha: 1, A: row(x), B: row(x), C: row(z)})
				if z[0] != float64((w+1)*(w+1)) || z[1] != 0 {
					t.Errorf("worker %d: %v", w, z[:2])
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestGemmAllocatesNothing(t *testing.T) {
	p := open(t)
	const n = 8
	x, z := make([]float64, n*n), make([]float64, n*n)
	g := &engine.Gemm{DType: engine.Float64, M: n, N: n, K: n, Batch: 1, Alpha: 1,
		A: engine.Matrix{P: unsafe.Pointer(&x[0]), Row: n, Col: 1}, B: engine.Matrix{P: unsafe.Pointer(&x[0]), Row: n, Col: 1},
		C: engine.Matrix{P: unsafe.Pointer(&z[0]), Row: n, Col: 1}}
	prods := p.Open()
	if avg := testing.AllocsPerRun(100, func() { prods.Gemm(g) }); avg != 0 {
		t.Errorf("%v allocations per product", avg)
	}
}
