package native

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"unsafe"

	"github.com/hataori/hataori-go/engine"
)

// TestProducts runs batches through the contract, among them operands that all
// members share, transposed outputs and operands without elements.
func TestProducts(t *testing.T) {
	t.Run("float32", testProducts[float32])
	t.Run("float64", testProducts[float64])
	t.Run("complex64", testProducts[complex64])
	t.Run("complex128", testProducts[complex128])
}

func testProducts[T Number](t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	d := engine.DTypeOf[T]()
	type batched struct {
		data []T
		m    engine.Matrix
	}
	operand := func(rows, cols, count int, byCol, shared bool) batched {
		b := batched{data: make([]T, rows*cols*count), m: engine.Matrix{Row: cols, Col: 1, Batch: rows * cols}}
		fillInts(r, b.data)
		if byCol {
			b.m.Row, b.m.Col = 1, rows
		}
		if shared {
			b.m.Batch = 0
		}
		if len(b.data) > 0 {
			b.m.P = unsafe.Pointer(&b.data[0])
		}
		return b
	}
	mat := func(b batched, q int, conj bool) Mat[T] {
		return Mat[T]{Data: b.data, Offset: q * b.m.Batch, RowStride: b.m.Row, ColStride: b.m.Col, Conj: conj}
	}
	for _, l := range levels() {
		p := New(Options{Limit: l})
		if !p.Supports(d) || p.Supports(engine.Int64) || !p.SplitInvariant() || p.Kernel() != l.String() {
			t.Fatalf("%v: %v", l, p)
		}
		prods := p.Open()
		for _, s := range [][3]int{{3, 5, 7}, {2, 2, 2}, {1, 6, 4}, {6, 1, 4}, {30, 30, 9}, {0, 3, 2}, {3, 0, 2}, {3, 4, 0}} {
			for flags := range 32 {
				bit := func(i int) bool { return flags>>i&1 != 0 }
				m, n, k := s[0], s[1], s[2]
				a, b, c := operand(m, k, 3, bit(0), bit(1)), operand(k, n, 3, !bit(0), false), operand(m, n, 3, bit(2), false)
				g := &engine.Gemm{DType: d, ConjA: bit(3), ConjB: bit(4), M: m, N: n, K: k, Batch: 3,
					Alpha: 1, Beta: complex(float64(flags%3), 0), A: a.m, B: b.m, C: c.m}
				want := batched{data: append([]T(nil), c.data...), m: c.m}
				for q := range 3 {
					dumbGemm(m, n, k, 1, mat(a, q, g.ConjA && d.IsComplex()), mat(b, q, g.ConjB && d.IsComplex()),
						fromParts[T](real(g.Beta), 0), mat(want, q, false))
				}
				if p.Fit(g) != 0 {
					t.Fatal("a misfit")
				}
				prods.Gemm(g)
				for i := range want.data {
					if c.data[i] != want.data[i] {
						t.Fatalf("%v %v flags %05b: element %d is %v, want %v", l, s, flags, i, c.data[i], want.data[i])
					}
				}
			}
		}
	}
}

func TestTile(t *testing.T) {
	for _, l := range levels() {
		for _, d := range []engine.DType{engine.Float32, engine.Float64, engine.Complex64, engine.Complex128} {
			if rows, cols := New(Options{Limit: l}).Tile(d); rows < 1 || cols < 1 {
				t.Errorf("%v %v: tile %d×%d", l, d, rows, cols)
			}
		}
	}
}

// TestFeaturesOff says which levels a run of the tests covers, and holds GODEBUG
// to what it asks for: scripts/check.sh runs them with features off.
func TestFeaturesOff(t *testing.T) {
	debug := os.Getenv("GODEBUG")
	have := Best(Auto)
	t.Logf("kernels up to %v", have)
	if strings.Contains(debug, "cpu.avx2=off") && have != Portable || strings.Contains(debug, "cpu.avx512f=off") && have == AVX512 {
		t.Fatalf("GODEBUG=%s leaves %v", debug, have)
	}
}

// The right operand is read where it lies if it is small and its rows are near one
// another, and packed if it is the panel of a wide matrix, or large.
func TestPacks(t *testing.T) {
	p := New(Options{})
	for _, c := range []struct {
		n, row int // columns, and from row to row of B
		packs  bool
	}{{100, 100, false}, {100, 200, false}, {100, 512, true}, {512, 512, true}} {
		g := engine.Gemm{DType: engine.Float64, M: 512, N: c.n, K: 512, Batch: 1, Alpha: 1,
			C: engine.Matrix{Row: c.row, Col: 1}, A: engine.Matrix{Row: 512, Col: 1}, B: engine.Matrix{Row: c.row, Col: 1}}
		if a, b := p.Packs(&g); a || b != c.packs {
			t.Errorf("%d columns of rows of %d: A is packed: %v, B: %v", c.n, c.row, a, b)
		}
	}
}
