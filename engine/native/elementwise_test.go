package native

import (
	"slices"
	"testing"
	"unsafe"

	"github.com/hataori/hataori-go/engine"
	"pgregory.net/rapid"
)

func value[T numeric](i int) T {
	var z T
	switch p := any(&z).(type) {
	case *int32:
		*p = int32(i)
	case *int64:
		*p = int64(i)
	case *float32:
		*p = float32(i)
	case *float64:
		*p = float64(i)
	case *complex64:
		*p = complex(float32(i), float32(i%5-2))
	case *complex128:
		*p = complex(float64(i), float64(i%5-2))
	}
	return z
}

func conj[T numeric](x T) T {
	switch v := any(x).(type) {
	case complex64:
		return any(complex(real(v), -imag(v))).(T)
	case complex128:
		return any(complex(real(v), -imag(v))).(T)
	}
	return x
}

func scalar[T numeric](z complex128) T {
	var x T
	switch p := any(&x).(type) {
	case *int32:
		*p = int32(real(z))
	case *int64:
		*p = int64(real(z))
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

func testMap[T numeric](t *rapid.T) {
	var z T
	d := engine.DTypeOf[T]()
	extents := drawExtents(t)
	if rapid.IntRange(0, 9).Draw(t, "long") == 0 {
		extents = []int{rapid.IntRange(1, 3).Draw(t, "rows"), rapid.IntRange(4000, 9000).Draw(t, "length")}
	}
	ds := drawStrided(t, "dst", extents, false)
	xs, ys := drawStrided(t, "x", extents, true), drawStrided(t, "y", extents, true)
	dst, x, y := make([]T, ds.n), make([]T, xs.n), make([]T, ys.n)
	for _, s := range [][]T{dst, x, y} {
		for i := range s {
			s[i] = value[T](i%97 - 40)
		}
	}
	if rapid.Bool().Draw(t, "in place") {
		x, xs = dst, ds
	}
	by := complex(float64(rapid.IntRange(-3, 3).Draw(t, "by")), 0)
	if d.IsComplex() {
		by += 2i
	}
	op := rapid.SampledFrom([]string{"add", "mul", "scale", "conj"}).Draw(t, "op")
	want := slices.Clone(dst)
	each(extents, func(index []int) {
		a, b := x[xs.at(index)], y[ys.at(index)]
		switch op {
		case "add":
			a += b
		case "mul":
			a *= b
		case "scale":
			a = scalar[T](by) * a
		case "conj":
			a = conj(a)
		}
		want[ds.at(index)] = a
	})
	var p *MapPlan
	py := pointer(y, min(ys.off, ys.n-1))
	switch {
	case op == "add":
		p = Auto.NewAdd(d, extents, ds.strides, xs.strides, ys.strides)
	case op == "mul":
		p = Auto.NewMul(d, extents, ds.strides, xs.strides, ys.strides)
	case op == "conj" && d.IsComplex():
		p, py = Auto.NewConj(d, extents, ds.strides, xs.strides), nil
	case op == "conj":
		return
	default:
		p, py = Auto.NewScale(d, by, extents, ds.strides, xs.strides), nil
	}
	for _, c := range drawCuts(t, p.Items()) {
		p.Run(new(Workspace), Operands{pointer(dst, min(ds.off, ds.n-1)), pointer(x, min(xs.off, xs.n-1)), py}, c[0], c[1])
	}
	for i := range dst {
		if dst[i] != want[i] {
			t.Fatalf("%s of %T, extents %v, strides %v, %v, %v: element %d: got %v, want %v",
				op, z, extents, ds.strides, xs.strides, ys.strides, i, dst[i], want[i])
		}
	}
}

func TestMapAgainstLoops(t *testing.T) {
	t.Run("int32", func(t *testing.T) { rapid.Check(t, testMap[int32]) })
	t.Run("int64", func(t *testing.T) { rapid.Check(t, testMap[int64]) })
	t.Run("float32", func(t *testing.T) { rapid.Check(t, testMap[float32]) })
	t.Run("float64", func(t *testing.T) { rapid.Check(t, testMap[float64]) })
	t.Run("complex64", func(t *testing.T) { rapid.Check(t, testMap[complex64]) })
	t.Run("complex128", func(t *testing.T) { rapid.Check(t, testMap[complex128]) })
}

func testSum[T numeric](t *rapid.T) {
	d := engine.DTypeOf[T]()
	extents := drawExtents(t)
	if rapid.IntRange(0, 4).Draw(t, "long") == 0 {
		extents = []int{rapid.IntRange(1, 3).Draw(t, "rows"), rapid.IntRange(15000, 40000).Draw(t, "length")}
	}
	ss := drawStrided(t, "src", extents, true)
	src := make([]T, ss.n)
	for i := range src {
		src[i] = value[T](i%7 - 3)
	}
	var kept, keptStrides, summed, summedStrides []int
	isKept := make([]bool, len(extents))
	for i, n := range extents {
		if isKept[i] = rapid.Bool().Draw(t, "kept"); isKept[i] {
			kept, keptStrides = append(kept, n), append(keptStrides, ss.strides[i])
		} else {
			summed, summedStrides = append(summed, n), append(summedStrides, ss.strides[i])
		}
	}
	ds := drawStrided(t, "dst", kept, false)
	dst := make([]T, ds.n)
	for i := range dst {
		dst[i] = value[T](1000 + i)
	}
	want := slices.Clone(dst)
	each(kept, func(index []int) { want[ds.at(index)] = 0 })
	var k []int
	each(extents, func(index []int) {
		k = k[:0]
		for i, at := range index {
			if isKept[i] {
				k = append(k, at)
			}
		}
		want[ds.at(k)] += src[ss.at(index)]
	})
	p := Auto.NewSum(d, kept, ds.strides, keptStrides, summed, summedStrides)
	start := slices.Clone(dst)
	pd, ps := pointer(dst, min(ds.off, ds.n-1)), pointer(src, min(ss.off, ss.n-1))
	var ws Workspace
	for _, c := range drawCuts(t, p.Items()) {
		p.Run(&ws, pd, ps, c[0], c[1])
	}
	if !slices.Equal(dst, want) {
		t.Fatalf("extents %v kept %v strides %v: got %v, want %v", extents, isKept, ss.strides, dst, want)
	}
	copy(dst, start)
	sumByParts[T](p, &ws, pd, ps)
	if !slices.Equal(dst, want) {
		t.Fatalf("by parts: extents %v kept %v strides %v: got %v, want %v", extents, isKept, ss.strides, dst, want)
	}
}

func sumByParts[T numeric](p *SumPlan, ws *Workspace, dst, src unsafe.Pointer) {
	var z T
	width := p.PartialBytes() / int(unsafe.Sizeof(z))
	for item := range p.Items() {
		partials := make([]T, width*p.Parts())
		for part := p.Parts() - 1; part >= 0; part-- {
			p.RunPart(ws, pointer(partials, part*width), src, item, part)
		}
		p.Join(ws, dst, pointer(partials, 0), item)
	}
}

func TestSumAgainstLoops(t *testing.T) {
	t.Run("int32", func(t *testing.T) { rapid.Check(t, testSum[int32]) })
	t.Run("int64", func(t *testing.T) { rapid.Check(t, testSum[int64]) })
	t.Run("float32", func(t *testing.T) { rapid.Check(t, testSum[float32]) })
	t.Run("float64", func(t *testing.T) { rapid.Check(t, testSum[float64]) })
	t.Run("complex64", func(t *testing.T) { rapid.Check(t, testSum[complex64]) })
	t.Run("complex128", func(t *testing.T) { rapid.Check(t, testSum[complex128]) })
}

// TestSumBits sums numbers that round, whole and by parts, and wants the same
// bits, and an error that a sum in order would exceed.
func TestSumBits(t *testing.T) {
	const n = 3<<20 + 5
	x := make([]float32, n)
	for i := range x {
		x[i] = 0.1
	}
	for _, shape := range []struct{ kept, summed []int }{{nil, []int{n}}, {[]int{10}, []int{n / 10}}} {
		ks, ss := []int{1}[:len(shape.kept)], []int{max(len(shape.kept)*10, 1)}
		whole, parts := make([]float32, 10), make([]float32, 10)
		p := Auto.NewSum(engine.Float32, shape.kept, ks, ks, shape.summed, ss)
		if p.Parts() < 2 {
			t.Fatalf("%v: one part only", shape)
		}
		var ws Workspace
		p.Run(&ws, pointer(whole, 0), pointer(x, 0), 0, p.Items())
		sumByParts[float32](p, &ws, pointer(parts, 0), pointer(x, 0))
		if !slices.Equal(whole, parts) {
			t.Errorf("%v: whole %v, by parts %v", shape, whole, parts)
		}
		want := float64(float32(0.1)) * float64(shape.summed[0])
		if e := float64(whole[0])/want - 1; e > 5e-6 || e < -5e-6 {
			t.Errorf("%v: relative error %g", shape, e)
		}
		if avg := testing.AllocsPerRun(2, func() { p.Run(&ws, pointer(whole, 0), pointer(x, 0), 0, p.Items()) }); avg != 0 {
			t.Errorf("%v allocations per sum", avg)
		}
	}
}

// BenchmarkMap compares with a loop over contiguous slices.
func BenchmarkMap(b *testing.B) {
	var ws Workspace
	for _, n := range []int{1 << 10, 1 << 22} {
		x, y, z := make([]complex128, n), make([]complex128, n), make([]complex128, n)
		for i := range x {
			x[i], y[i] = 1, 1i
		}
		one := []int{1}
		add := Auto.NewAdd(engine.Complex128, []int{n}, one, one, one)
		mul := Auto.NewMul(engine.Complex128, []int{n}, one, one, one)
		name := map[int]string{1 << 10: "1k", 1 << 22: "4M"}[n]
		b.Run(name+"/add", func(b *testing.B) {
			for b.Loop() {
				add.Run(&ws, Operands{pointer(z, 0), pointer(x, 0), pointer(y, 0)}, 0, add.Items())
			}
		})
		b.Run(name+"/add-loop", func(b *testing.B) {
			for b.Loop() {
				for i, v := range x {
					z[i] = v + y[i]
				}
			}
		})
		b.Run(name+"/mul", func(b *testing.B) {
			for b.Loop() {
				mul.Run(&ws, Operands{pointer(z, 0), pointer(x, 0), pointer(y, 0)}, 0, mul.Items())
			}
		})
		b.Run(name+"/mul-loop", func(b *testing.B) {
			for b.Loop() {
				for i, v := range x {
					z[i] = v * y[i]
				}
			}
		})
	}
}

// BenchmarkSum compares with a running sum.
func BenchmarkSum(b *testing.B) {
	const n = 2048
	x, out := make([]float64, n*n), make([]float64, n)
	for i := range x {
		x[i] = 1
	}
	var ws Workspace
	for _, c := range []struct {
		name string
		p    *SumPlan
	}{
		{"all", Auto.NewSum(engine.Float64, nil, nil, nil, []int{n, n}, []int{n, 1})},
		{"rows", Auto.NewSum(engine.Float64, []int{n}, []int{1}, []int{n}, []int{n}, []int{1})},
		{"columns", Auto.NewSum(engine.Float64, []int{n}, []int{1}, []int{1}, []int{n}, []int{n})},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				c.p.Run(&ws, pointer(out, 0), pointer(x, 0), 0, c.p.Items())
			}
			b.SetBytes(8 * n * n)
		})
	}
	b.Run("loop", func(b *testing.B) {
		for b.Loop() {
			s := 0.0
			for _, v := range x {
				s += v
			}
			out[0] = s
		}
		b.SetBytes(8 * n * n)
	})
}
