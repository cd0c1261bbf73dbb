package native

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/hataori/hataori-go/engine"
)

// What goes past the caches must have the bits of what does not, wherever the
// output begins, and leave its neighbours alone. The rival is the same plan, or
// one of the portable kernels, with plain stores.

const around = 128 // bytes on either side of an output

type region struct{ mem []byte }

// newRegion is room for n bytes at a distance from a multiple of 64.
func newRegion(n, shift int) region {
	b := engine.AlignedBytes(n + shift + 2*around)
	for i := range b {
		b[i] = 0xa5
	}
	return region{b[shift : shift+n+2*around]}
}

func (r region) at() unsafe.Pointer { return unsafe.Pointer(&r.mem[around]) }

func sameRegions(t *testing.T, what string, got, want region) {
	t.Helper()
	if !bytes.Equal(got.mem, want.mem) {
		for i := range got.mem {
			if got.mem[i] != want.mem[i] {
				t.Fatalf("%s: byte %d differs", what, i-around)
			}
		}
	}
}

func randomBytes(d engine.DType, n int) []byte {
	rnd := rand.New(rand.NewPCG(3, uint64(n)))
	b := engine.AlignedBytes(n * d.Size())
	if d.RealPart() == engine.Float32 {
		v := unsafe.Slice((*float32)(unsafe.Pointer(&b[0])), n*d.Size()/4)
		for i := range v {
			v[i] = float32(rnd.NormFloat64() * 3)
		}
		return b
	}
	v := unsafe.Slice((*float64)(unsafe.Pointer(&b[0])), n*d.Size()/8)
	for i := range v {
		v[i] = rnd.NormFloat64() * 3
	}
	return b
}

func TestMapsPastTheCaches(t *testing.T) {
	one := []int{1}
	for _, l := range levels() {
		for _, d := range []engine.DType{engine.Float32, engine.Float64, engine.Complex64, engine.Complex128} {
			n := streamBytes/d.Size() + 77
			ext := []int{n}
			x, y := randomBytes(d, n), randomBytes(d, n)
			plans := map[string]*MapPlan{
				"Add": l.NewAdd(d, ext, one, one, one), "Mul": l.NewMul(d, ext, one, one, one),
				"Sub": l.NewBinary(engine.Sub, d, ext, one, one, one), "Div": l.NewBinary(engine.Div, d, ext, one, one, one),
			}
			if !d.IsComplex() && (!testing.Short() || d == engine.Float64) {
				for _, u := range []engine.Unary{engine.Exp, engine.Log, engine.Sin, engine.Sqrt} {
					plans[u.Name()] = l.NewUnary(u, d, ext, one, one)
				}
			}
			for name, p := range plans {
				if !p.stream {
					continue
				}
				in := Operands{1: unsafe.Pointer(&x[0])}
				if p.size[2] > 0 {
					in[2] = unsafe.Pointer(&y[0])
				}
				for _, shift := range []int{0, d.RealPart().Size(), d.Size() + 32} {
					got, want := newRegion(n*d.Size(), shift), newRegion(n*d.Size(), shift)
					run := func(p *MapPlan, r region) {
						at := in
						at[0] = r.at()
						p.Run(new(Workspace), at, 0, p.Items())
					}
					run(p, got)
					plain := *p
					plain.stream = false
					run(&plain, want)
					sameRegions(t, fmt.Sprintf("%s %v %v, %d bytes off", name, d, l, shift), got, want)
				}
			}
			if l == AVX512 && !plans["Add"].stream {
				t.Errorf("sums of %d bytes of %v do not go past the caches", n*d.Size(), d)
			}
		}
	}
}

// In place nothing goes past the caches, and the result is the same.
func TestMapInPlaceBeyondTheCaches(t *testing.T) {
	n := streamBytes/8 + 5
	x := randomBytes(engine.Float64, n)
	want := engine.AlignedBytes(8 * n)
	p := Auto.NewUnary(engine.Exp, engine.Float64, []int{n}, []int{1}, []int{1})
	p.Run(new(Workspace), Operands{unsafe.Pointer(&want[0]), unsafe.Pointer(&x[0])}, 0, p.Items())
	p.Run(new(Workspace), Operands{unsafe.Pointer(&x[0]), unsafe.Pointer(&x[0])}, 0, p.Items())
	if !bytes.Equal(x, want) {
		t.Error("the exponential in place differs")
	}
}

func TestGathersPastTheCaches(t *testing.T) {
	t.Run("int32", testGatherPast[int32])
	t.Run("int64", testGatherPast[int64])
}

func testGatherPast[I integer](t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	n := streamBytes/8 + 77
	x := unsafe.Slice((*float64)(unsafe.Pointer(&randomBytes(engine.Float64, 1000)[0])), 1000)
	index := make([]I, n)
	for i := range index {
		index[i] = I(rnd.IntN(len(x)))
	}
	d := engine.Int64
	if indexSize[I]() == 4 {
		d = engine.Int32
	}
	for _, l := range levels() {
		p := l.NewGather(engine.Float64, d, 1, Axes{Extents: []int{n}, To: []int{1}, From: []int{0}, Index: []int{1}}, Axes{})
		if !p.past && l != Portable {
			t.Errorf("%v: %d bytes do not go past the caches", l, 8*n)
		}
		if l == Portable {
			continue
		}
		for _, shift := range []int{4, 40} {
			for _, span := range [][2]int{{5, n - 3}, {7, 30}} {
				got := newRegion(n*8, shift)
				p.Run(got.at(), unsafe.Pointer(&x[0]), unsafe.Pointer(&index[0]), span[0], span[1])
				want := newRegion(n*8, shift)
				for i := span[0]; i < span[1]; i++ {
					*(*[8]byte)(unsafe.Add(want.at(), 8*i)) = *(*[8]byte)(unsafe.Pointer(&x[index[i]]))
				}
				sameRegions(t, fmt.Sprintf("%v, %d bytes off, %v", l, shift, span), got, want)
			}
		}
	}
}

func TestCopiesPastTheCaches(t *testing.T) {
	sizes := []int{1, 4, 8, 16}
	if testing.Short() {
		sizes = []int{8}
	}
	for _, size := range sizes {
		n := streamBytes/size + 77
		cols := 1000
		src := make([]byte, (3*n+4*cols)*size)
		for i := range src {
			src[i] = byte(i*i>>7 + i)
		}
		for name, c := range map[string]struct {
			ext, dst, src []int
		}{
			"one run":           {[]int{n}, []int{1}, []int{1}},
			"runs":              {[]int{n/cols + 1, cols}, []int{cols, 1}, []int{2 * cols, 1}},
			"every other":       {[]int{n}, []int{1}, []int{2}},
			"every third":       {[]int{n/cols + 1, cols - 1}, []int{cols - 1, 1}, []int{3*cols - 3, 3}},
			"columns of a few":  {[]int{n/cols + 1, cols/2 + 1, 2}, []int{cols + 2, 2, 1}, []int{2*cols + 4, 4, 2}},
			"pairs of columns":  {[]int{n/cols + 1, cols / 2, 2}, []int{cols, 2, 1}, []int{2 * cols, 4, 1}},
			"gaps between rows": {[]int{n/cols + 1, cols}, []int{cols + 3, 1}, []int{2 * cols, 2}},
		} {
			for _, shift := range []int{0, size, 32} {
				last := 0
				for i, m := range c.ext {
					last += (m - 1) * c.dst[i]
				}
				got, want := newRegion((last+1)*size, shift), newRegion((last+1)*size, shift)
				run := func(l Level, r region) *CopyPlan {
					p := l.NewCopy(size, c.ext, c.dst, c.src)
					mid := p.Items() / 3 // in two pieces
					var ws Workspace
					p.Run(&ws, r.at(), unsafe.Pointer(&src[0]), mid, p.Items())
					p.Run(&ws, r.at(), unsafe.Pointer(&src[0]), 0, mid)
					return p
				}
				p := run(Auto, got)
				run(Portable, want)
				sameRegions(t, fmt.Sprintf("%s of %d bytes, %d bytes off", name, size, shift), got, want)
				if Best(Auto) != Portable && size == 8 && (name == "one run" || name == "every other") && !p.stream {
					t.Errorf("%s of %d bytes does not go past the caches", name, size)
				}
			}
		}
	}
}
