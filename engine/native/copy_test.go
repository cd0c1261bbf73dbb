package native

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/hataori/hataori-go/engine"
	"pgregory.net/rapid"
)

// strided is a tensor drawn by a test.
type strided struct {
	n       int // elements of the slice
	off     int // of element (0, 0, …)
	strides []int
}

// drawExtents draws shapes of a few long axes or many short ones.
func drawExtents(t *rapid.T) []int {
	if rapid.Bool().Draw(t, "many axes") {
		return rapid.SliceOfN(rapid.IntRange(1, 3), 0, 9).Draw(t, "extents") // 20,000 elements at most
	}
	extents := rapid.SliceOfN(rapid.OneOf(rapid.IntRange(0, 9), rapid.IntRange(30, 70)), 0, 3).Draw(t, "extents")
	for i, total := 0, 1; i < len(extents); i++ { // a few thousand elements
		if total *= max(extents[i], 1); total > 5000 {
			return extents[:i]
		}
	}
	return extents
}

// drawStrided draws a layout whose axes lie in any order in memory, with gaps
// and of either direction. With repeat, some strides are zero.
func drawStrided(t *rapid.T, name string, extents []int, repeat bool) strided {
	order := rapid.Permutation(seq(len(extents))).Draw(t, name+" order")
	x := strided{n: 1, strides: make([]int, len(extents))}
	gaps := rapid.Bool().Draw(t, name+" gaps")
	if gaps {
		x.n = rapid.IntRange(1, 3).Draw(t, name+" step")
	}
	for _, i := range order {
		n := max(extents[i], 1)
		if repeat && rapid.IntRange(0, 5).Draw(t, name+" repeats") == 0 {
			continue
		}
		x.strides[i] = x.n
		if gaps && rapid.IntRange(0, 3).Draw(t, name+" reversed") == 0 {
			x.off += x.n * (n - 1)
			x.strides[i] = -x.n
		}
		x.n *= n
		if gaps {
			x.n += rapid.IntRange(0, 2).Draw(t, name+" gap")
		}
	}
	return x
}

func seq(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// each visits the index tuples of extents in row-major order.
func each(extents []int, f func(index []int)) {
	if slices.Contains(extents, 0) {
		return
	}
	at := make([]int, len(extents))
	for {
		f(at)
		i := len(at) - 1
		for ; i >= 0; i-- {
			if at[i]++; at[i] < extents[i] {
				break
			}
			at[i] = 0
		}
		if i < 0 {
			return
		}
	}
}

func (x strided) at(index []int) int {
	p := x.off
	for i, k := range index {
		p += k * x.strides[i]
	}
	return p
}

// drawCuts cuts items into ranges, in any order.
func drawCuts(t *rapid.T, items int) [][2]int {
	var out [][2]int
	for lo := 0; lo < items; {
		hi := min(lo+rapid.IntRange(1, max(items/2, 1)).Draw(t, "cut"), items)
		out = append(out, [2]int{lo, hi})
		lo = hi
	}
	if len(out) < 2 {
		return out
	}
	return rapid.Permutation(out).Draw(t, "order of the cuts")
}

func pointer[T any](s []T, off int) unsafe.Pointer { return unsafe.Pointer(&s[off]) }

func testCopy[T comparable](t *rapid.T, d engine.DType, value func(i int) T, conj func(T) T) {
	extents := drawExtents(t)
	ds, ss := drawStrided(t, "destination", extents, false), drawStrided(t, "source", extents, true)
	dst, src := make([]T, ds.n), make([]T, ss.n)
	for i := range src {
		src[i] = value(i)
	}
	for i := range dst {
		dst[i] = value(-1 - i)
	}
	want := slices.Clone(dst)
	doConj := rapid.Bool().Draw(t, "conj")
	each(extents, func(index []int) {
		v := src[ss.at(index)]
		if doConj {
			v = conj(v)
		}
		want[ds.at(index)] = v
	})
	plan := Auto.NewCopy(d.Size(), extents, ds.strides, ss.strides)
	if doConj {
		plan = Auto.NewConjCopy(d, extents, ds.strides, ss.strides)
	}
	if rapid.Bool().Draw(t, "as a large tensor") && len(plan.dst.to)*len(plan.src.to) > 1 {
		plan.buffered = true
	}
	for _, c := range drawCuts(t, plan.Items()) {
		plan.Run(new(Workspace), pointer(dst, min(ds.off, ds.n-1)), pointer(src, min(ss.off, ss.n-1)), c[0], c[1])
	}
	if !slices.Equal(dst, want) {
		t.Fatalf("extents %v, strides %v from %v: got\n%v, want\n%v", extents, ds.strides, ss.strides, dst, want)
	}
}

func TestCopyAgainstLoops(t *testing.T) {
	t.Run("bool", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			testCopy(t, engine.Bool, func(i int) uint8 { return uint8(i) }, func(x uint8) uint8 { return x })
		})
	})
	t.Run("float32", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			testCopy(t, engine.Float32, func(i int) float32 { return float32(i) }, func(x float32) float32 { return x })
		})
	})
	t.Run("float64", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			testCopy(t, engine.Float64, func(i int) float64 { return float64(i) }, func(x float64) float64 { return x })
		})
	})
	t.Run("complex64", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			testCopy(t, engine.Complex64, func(i int) complex64 { return complex(float32(i), float32(i+1)) },
				func(x complex64) complex64 { return complex(real(x), -imag(x)) })
		})
	})
	t.Run("complex128", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			testCopy(t, engine.Complex128, func(i int) complex128 { return complex(float64(i), float64(i+1)) },
				func(x complex128) complex128 { return complex(real(x), -imag(x)) })
		})
	})
}

// TestCopyLarge reverses and shuffles tensors that are above every threshold.
func TestCopyLarge(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var ws Workspace
	for _, extents := range [][]int{repeated(2, 16), repeated(3, 10), {300, 301}, {20000, 3}, {3, 20000}, {33, 65, 31}, {200000}} {
		for range 2 {
			perm := r.Perm(len(extents))
			if len(extents) == 2 {
				perm = []int{1, 0}
			}
			ds, ss := rowMajor(extents), make([]int, len(extents))
			n := 1
			for _, i := range perm {
				ss[i] = n
				n *= extents[i]
			}
			src, dst := make([]float64, n), make([]float64, n)
			for i := range src {
				src[i] = float64(i)
			}
			Auto.NewCopy(8, extents, ds, ss).runAll(&ws, pointer(dst, 0), pointer(src, 0))
			i := 0
			each(extents, func(index []int) {
				if want := (strided{strides: ss}).at(index); dst[i] != float64(want) {
					t.Fatalf("%v by %v: element %v is %v, want %v", extents, perm, index, dst[i], want)
				}
				i++
			})
		}
	}
}

func (p *CopyPlan) runAll(ws *Workspace, dst, src unsafe.Pointer) {
	p.Run(ws, dst, src, 0, p.Items())
}

func repeated(n, count int) []int {
	return slices.Repeat([]int{n}, count)
}

func rowMajor(extents []int) []int {
	out, n := make([]int, len(extents)), 1
	for i := len(extents) - 1; i >= 0; i-- {
		out[i] = n
		n *= extents[i]
	}
	return out
}

func TestCopyAllocatesNothing(t *testing.T) {
	extents := repeated(2, 16)
	x, y := make([]float64, 1<<16), make([]float64, 1<<16)
	ss := rowMajor(extents)
	slices.Reverse(ss)
	p := Auto.NewCopy(8, extents, rowMajor(extents), ss)
	var ws Workspace
	if avg := testing.AllocsPerRun(5, func() { p.runAll(&ws, pointer(y, 0), pointer(x, 0)) }); avg != 0 {
		t.Errorf("%v allocations per copy", avg)
	}
}

// BenchmarkCopy reverses the axes of tensors; beside it a plain copy and loops
// in the order of the destination.
func BenchmarkCopy(b *testing.B) {
	for _, c := range []struct {
		name    string
		extents []int
	}{{"2x23", repeated(2, 23)}, {"8M", []int{1 << 23}}, {"2896x2896", []int{2896, 2896}}, {"2048x4096", []int{2048, 4096}}, {"203cubed", []int{203, 203, 203}}, {"64x64", []int{64, 64}}, {"2x12", repeated(2, 12)}} {
		ds := rowMajor(c.extents)
		ss := slices.Clone(ds)
		slices.Reverse(ss)
		n := 1
		for i := len(c.extents) - 1; i >= 0; i-- {
			ss[len(ss)-1-i] = 0
		}
		for i := range c.extents {
			ss[i] = n
			n *= c.extents[i]
		}
		x, y := make([]float64, n), make([]float64, n)
		for i := range x {
			x[i], y[i] = 1, 1
		}
		b.Run(c.name+"/plan", func(b *testing.B) {
			p := Auto.NewCopy(8, c.extents, ds, ss)
			var ws Workspace
			for b.Loop() {
				p.runAll(&ws, pointer(y, 0), pointer(x, 0))
			}
			b.SetBytes(int64(16 * n))
		})
		b.Run(c.name+"/memmove", func(b *testing.B) {
			for b.Loop() {
				copy(y, x)
			}
			b.SetBytes(int64(16 * n))
		})
		b.Run(c.name+"/loops", func(b *testing.B) {
			for b.Loop() {
				i := 0
				each(c.extents, func(index []int) { y[i] = x[(strided{strides: ss}).at(index)]; i++ })
			}
			b.SetBytes(int64(16 * n))
		})
	}
}

// TestCopyStreams copies runs of a tensor beyond the caches, in one go and in
// pieces, aligned and not.
func TestCopyStreams(t *testing.T) {
	const a, b, c = 66, 65, 1024 // 34 MiB
	src := make([]float64, a*b*c)
	for i := range src {
		src[i] = float64(i)
	}
	for _, l := range levels() {
		p := l.NewCopy(8, []int{b, a, c}, []int{a * c, c, 1}, []int{c, b * c, 1})
		for _, shift := range []int{0, 1} {
			room := make([]float64, len(src)+8)
			skip := shift
			for uintptr(unsafe.Pointer(&room[skip]))%32 != uintptr(8*shift) {
				skip++
			}
			dst := room[skip : skip+len(src)]
			var ws Workspace
			for _, cut := range [][2]int{{0, 1}, {1, 300}, {300, p.Items()}} {
				p.Run(&ws, unsafe.Pointer(&dst[0]), unsafe.Pointer(&src[0]), cut[0], cut[1])
			}
			for i, v := range dst {
				j, rest := i/(a*c), i%(a*c)
				if want := float64((rest/c*b+j)*c + rest%c); v != want {
					t.Fatalf("%v, shift %d: element %d is %v, want %v", l, shift, i, v, want)
				}
			}
		}
	}
}
