package native

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/hataori/hataori-go/engine"
	"pgregory.net/rapid"
)

// levels are the instruction sets that this machine can test.
func levels() []Level {
	out := []Level{Portable}
	for _, l := range []Level{AVX2, AVX512} {
		if Best(l) == l {
			out = append(out, l)
		}
	}
	return out
}

func fromParts[T Number](re, im float64) T {
	var z T
	switch p := any(&z).(type) {
	case *float32:
		*p = float32(re)
	case *float64:
		*p = re
	case *complex64:
		*p = complex64(complex(re, im))
	case *complex128:
		*p = complex(re, im)
	}
	return z
}

func toComplex[T Number](x T) complex128 {
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

func fillRand[T Number](r *rand.Rand, x []T) {
	for i := range x {
		x[i] = fromParts[T](r.Float64()-0.5, r.Float64()-0.5)
	}
}

// fillInts fills with small integers, whose products add up without rounding.
func fillInts[T Number](r *rand.Rand, x []T) {
	for i := range x {
		x[i] = fromParts[T](float64(r.IntN(9)-4), float64(r.IntN(9)-4))
	}
}

func dense[T Number](x []T, cols int) Mat[T] {
	return Mat[T]{Data: x, RowStride: cols, ColStride: 1}
}

// dumbGemm is the oracle: three loops in complex128.
func dumbGemm[T Number](m, n, k int, alpha T, a, b Mat[T], beta T, c Mat[T]) {
	at := func(x Mat[T], i, j int) complex128 {
		v := toComplex(x.Data[x.Offset+i*x.RowStride+j*x.ColStride])
		if x.Conj {
			v = complex(real(v), -imag(v))
		}
		return v
	}
	for i := range m {
		for j := range n {
			var s complex128
			for p := range k {
				s += at(a, i, p) * at(b, p, j)
			}
			s *= toComplex(alpha)
			if beta != 0 {
				s += toComplex(beta) * at(c, i, j)
			}
			c.Data[c.Offset+i*c.RowStride+j*c.ColStride] = fromParts[T](real(s), imag(s))
		}
	}
}

// drawMat places a rows×cols matrix in a slice with padding, in either order,
// with strides of either sign, or with a stride along both dimensions.
func drawMat[T Number](t *rapid.T, r *rand.Rand, name string, rows, cols int) Mat[T] {
	inner, outer := cols, rows
	byCol := rapid.Bool().Draw(t, name+" by columns")
	if byCol {
		inner, outer = rows, cols
	}
	step := rapid.SampledFrom([]int{1, 1, 1, 2, 3}).Draw(t, name+" step")
	ld := max(inner, 1)*step + rapid.IntRange(0, 3).Draw(t, name+" pad")
	pad := rapid.IntRange(0, 2).Draw(t, name+" offset")
	data := make([]T, pad+ld*max(outer, 1)+2)
	fillInts(r, data)
	x := Mat[T]{Data: data, Offset: pad, RowStride: ld, ColStride: step}
	if rows > 0 && rapid.IntRange(0, 3).Draw(t, name+" reversed") == 0 {
		x.Offset += (outer - 1) * ld
		x.RowStride = -ld
	}
	if byCol {
		x = x.T()
	}
	return x
}

func testGemmProperty[T Number](t *rapid.T) {
	dim := rapid.OneOf(rapid.IntRange(0, 12), rapid.IntRange(0, 40), rapid.IntRange(50, 75))
	m, n, k := dim.Draw(t, "m"), dim.Draw(t, "n"), rapid.OneOf(dim, dim, dim, rapid.IntRange(254, 262)).Draw(t, "k")
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 7))
	a, b, c := drawMat[T](t, r, "A", m, k), drawMat[T](t, r, "B", k, n), drawMat[T](t, r, "C", m, n)
	a.Conj, b.Conj = rapid.Bool().Draw(t, "conj A"), rapid.Bool().Draw(t, "conj B")
	scalar := rapid.SampledFrom([]complex128{1, 1, 1, 0, -1, 2, 2 - 3i})
	alpha := fromParts[T](real(scalar.Draw(t, "alpha")), 0)
	if z := scalar.Draw(t, "alpha part"); imag(z) != 0 {
		alpha = fromParts[T](real(z), imag(z))
	}
	bz := rapid.SampledFrom([]complex128{0, 0, 1, 1, -1, 2 + 1i}).Draw(t, "beta")
	beta := fromParts[T](real(bz), imag(bz))
	want := c
	want.Data = append([]T(nil), c.Data...)
	if beta == 0 { // C is not read
		nan := fromParts[T](math.NaN(), math.NaN())
		for i := range m {
			for j := range n {
				c.Data[c.Offset+i*c.RowStride+j*c.ColStride] = nan
			}
		}
	}
	dumbGemm(m, n, k, alpha, a, b, beta, want)
	start := append([]T(nil), c.Data...)
	for _, l := range levels() {
		copy(c.Data, start)
		var ws Workspace
		if err := Gemm(l, &ws, m, n, k, alpha, a, b, beta, c); err != nil {
			t.Fatal(err)
		}
		for i := range c.Data {
			if c.Data[i] != want.Data[i] {
				t.Fatalf("%v: %d×%d×%d element %d: got %v, want %v", l, m, n, k, i, c.Data[i], want.Data[i])
			}
		}
	}
}

func TestGemmAgainstLoops(t *testing.T) {
	t.Run("float32", func(t *testing.T) { rapid.Check(t, testGemmProperty[float32]) })
	t.Run("float64", func(t *testing.T) { rapid.Check(t, testGemmProperty[float64]) })
	t.Run("complex64", func(t *testing.T) { rapid.Check(t, testGemmProperty[complex64]) })
	t.Run("complex128", func(t *testing.T) { rapid.Check(t, testGemmProperty[complex128]) })
}

// TestGemmBlocks crosses every block boundary once.
func TestGemmBlocks(t *testing.T) {
	t.Run("float64", testGemmBlocks[float64])
	t.Run("complex64", testGemmBlocks[complex64])
}

func testGemmBlocks[T Number](t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, s := range [][3]int{{packedBytes/blockK/8 + 50, 3, blockK}, {405, 26, blockK + 3}, {9, 5000, 15}, {50, 700, 2*blockK + 1}} {
		m, n, k := s[0], s[1], s[2]
		x, y, z, w := make([]T, m*k), make([]T, k*n), make([]T, m*n), make([]T, m*n)
		fillInts(r, x)
		fillInts(r, y)
		dumbGemm(m, n, k, 1, dense(x, k), dense(y, n), 0, dense(w, n))
		for _, l := range levels() {
			var ws Workspace
			for i := range z {
				z[i] = fromParts[T](math.NaN(), 0)
			}
			if err := Gemm(l, &ws, m, n, k, 1, dense(x, k), dense(y, n), 0, dense(z, n)); err != nil {
				t.Fatal(err)
			}
			for i := range z {
				if z[i] != w[i] {
					t.Fatalf("%v %v: element %d: got %v, want %v", l, s, i, z[i], w[i])
				}
			}
		}
	}
}

// TestGemmBitsOfParts cuts C into pieces of every kind and wants the bits of
// one call.
func TestGemmBitsOfParts(t *testing.T) {
	t.Run("float32", testGemmBitsOfParts[float32])
	t.Run("float64", testGemmBitsOfParts[float64])
	t.Run("complex64", testGemmBitsOfParts[complex64])
	t.Run("complex128", testGemmBitsOfParts[complex128])
}

func testGemmBitsOfParts[T Number](t *testing.T) {
	const m, n, k = 51, 107, 510
	r := rand.New(rand.NewPCG(5, 6))
	x, y := make([]T, m*k), make([]T, k*n)
	fillRand(r, x)
	fillRand(r, y)
	a, b := dense(x, k), dense(y, n)
	for _, l := range levels() {
		for _, alpha := range []T{1, fromParts[T](0.3, 0.7)} {
			var ws Workspace
			whole := make([]T, m*n)
			if err := Gemm(l, &ws, m, n, k, alpha, a, b, 0, dense(whole, n)); err != nil {
				t.Fatal(err)
			}
			for _, step := range []int{3, 8, 33} {
				part := make([]T, m*n)
				for i := 0; i < m; i += step {
					for j := 0; j < n; j += step + 6 {
						mb, nb := min(step, m-i), min(step+6, n-j)
						c := dense(part, n).At(i, j)
						if err := Gemm(l, &ws, mb, nb, k, alpha, a.At(i, 0), b.At(0, j), 0, c); err != nil {
							t.Fatal(err)
						}
					}
				}
				for i := range part {
					if part[i] != whole[i] {
						t.Fatalf("%v: pieces of %d: element %d: %v, whole %v", l, step, i, part[i], whole[i])
					}
				}
			}
		}
	}
}

func TestGemmBounds(t *testing.T) {
	x := make([]float64, 6)
	var ws Workspace
	for name, call := range map[string]func() error{
		"A": func() error {
			return Gemm(Auto, &ws, 2, 2, 3, 1, Mat[float64]{Data: x, RowStride: 4, ColStride: 1}, dense(x, 2), 0, dense(make([]float64, 4), 2))
		},
		"B": func() error {
			return Gemm(Auto, &ws, 2, 2, 3, 1, dense(x, 3), Mat[float64]{Data: x, Offset: 1, RowStride: 2, ColStride: 1}, 0, dense(make([]float64, 4), 2))
		},
		"C": func() error {
			return Gemm(Auto, &ws, 2, 2, 3, 1, dense(x, 3), dense(x, 2), 0, Mat[float64]{Data: make([]float64, 4), RowStride: -2, ColStride: 1})
		},
	} {
		err, ok := call().(*BoundsError)
		if !ok || err.Operand != name {
			t.Errorf("operand %s out of bounds: got %v", name, call())
		}
	}
	if Gemm(Auto, &ws, -1, 2, 2, 1, dense(x, 3), dense(x, 2), 0, dense(x, 2)) == nil {
		t.Error("negative extent accepted")
	}
}

func TestGemmAllocatesNothing(t *testing.T) {
	const n = 70
	x, y, z := make([]complex128, n*n), make([]complex128, n*n), make([]complex128, n*n)
	for _, l := range levels() {
		var ws Workspace
		if avg := testing.AllocsPerRun(3, func() {
			if Gemm(l, &ws, n, n, n, 1, dense(x, n), dense(y, n).T(), 0, dense(z, n)) != nil {
				t.Fail()
			}
		}); avg != 0 {
			t.Errorf("%v: %v allocations per product", l, avg)
		}
	}
}

// TestTileLayout holds the offsets that internal/gen was given.
func TestTileLayout(t *testing.T) {
	var x tile
	for name, o := range map[string][2]uintptr{
		"a": {unsafe.Offsetof(x.a), 0}, "b": {unsafe.Offsetof(x.b), 8}, "c": {unsafe.Offsetof(x.c), 16},
		"k": {unsafe.Offsetof(x.k), 24}, "ars": {unsafe.Offsetof(x.ars), 32}, "acs": {unsafe.Offsetof(x.acs), 40},
		"brs": {unsafe.Offsetof(x.brs), 48}, "crs": {unsafe.Offsetof(x.crs), 56}, "rows": {unsafe.Offsetof(x.rows), 64},
		"mask": {unsafe.Offsetof(x.mask), 72}, "add": {unsafe.Offsetof(x.add), 80}, "one": {unsafe.Offsetof(x.one), 88},
		"one32": {unsafe.Offsetof(x.one32), 96}, "lack": {unsafe.Offsetof(x.lack), 100},
		"left": {unsafe.Offsetof(x.left), 104}, "at": {unsafe.Offsetof(x.at), 112},
		"step": {unsafe.Offsetof(x.step), 136}, "below": {unsafe.Offsetof(x.below), 160}, "tiles": {unsafe.Offsetof(x.tiles), 168},
		"down": {unsafe.Offsetof(x.down), 176}, "ahead": {unsafe.Offsetof(x.ahead), 200},
	} {
		if unsafe.Sizeof(uintptr(0)) == 8 && o[0] != o[1] {
			t.Errorf("%s lies at %d, the assembly expects %d", name, o[0], o[1])
		}
	}
}

func benchGemm[T Number](b *testing.B, level Level, n int) {
	r := rand.New(rand.NewPCG(1, 2))
	x, y, z := make([]T, n*n), make([]T, n*n), make([]T, n*n)
	fillRand(r, x)
	fillRand(r, y)
	var ws Workspace
	for b.Loop() {
		if err := Gemm(level, &ws, n, n, n, 1, dense(x, n), dense(y, n), 0, dense(z, n)); err != nil {
			b.Fatal(err)
		}
	}
	fl := 2.0
	if engine.DTypeOf[T]().IsComplex() {
		fl = 8
	}
	b.ReportMetric(fl*float64(n)*float64(n)*float64(n)/float64(b.Elapsed().Nanoseconds())*float64(b.N), "GFLOP/s")
}

func BenchmarkGemm(b *testing.B) {
	for _, n := range []int{4, 8, 32, 64, 100, 256, 512, 1024, 2048} {
		for _, l := range []Level{AVX512, AVX2, Portable} {
			b.Run(fmt.Sprintf("f64/%v/%d", l, n), func(b *testing.B) { benchGemm[float64](b, l, n) })
			b.Run(fmt.Sprintf("c128/%v/%d", l, n), func(b *testing.B) { benchGemm[complex128](b, l, n) })
			b.Run(fmt.Sprintf("f32/%v/%d", l, n), func(b *testing.B) { benchGemm[float32](b, l, n) })
			b.Run(fmt.Sprintf("c64/%v/%d", l, n), func(b *testing.B) { benchGemm[complex64](b, l, n) })
		}
	}
}
