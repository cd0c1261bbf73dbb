package enginetest

import (
	"math"

	"github.com/hataori/hataori-go/engine"
)

// shapes of structural and elementwise tests: scalars, empty tensors, extents
// of 1, sizes around vector and block edges.
var shapes = [][]int{
	{}, {1}, {0}, {7}, {33}, {3, 0, 2}, {1, 5, 1}, {4, 4}, {5, 9}, {17, 31}, {64, 65}, {2, 3, 4}, {7, 1, 9, 2}, {3, 5, 2, 4, 3}, {2, 2, 2, 2, 2, 2, 2},
}

func reversedAxes(n int) []int {
	p := make([]int, n)
	for i := range p {
		p[i] = n - 1 - i
	}
	return p
}

func rotatedAxes(n int) []int {
	p := make([]int, n)
	for i := range p {
		p[i] = (i + n/2) % n
	}
	return p
}

func testStructure(r *rig) {
	for t, d := range allTypes {
		for n, s := range shapes {
			for l := layout((t + n) % 2); l < layouts; l += 2 {
				a := r.input(l, d, s, small(d, 1))
				out := layout(r.rnd.IntN(int(layouts)))
				r.expect(engine.Copy{}, out, a)
				r.expect(engine.Permute{Axes: engine.AxesOf(reversedAxes(len(s))...)}, out, a)
				r.expect(engine.Permute{Axes: engine.AxesOf(rotatedAxes(len(s))...)}, compact, a)
				r.expect(engine.Permute{Axes: engine.AxesOf(r.rnd.Perm(len(s))...)}, out, a)
				r.expect(engine.Reshape{Shape: engine.ShapeOf(1, a.Elements(), 1)}, out, a)
			}
		}
	}
	for _, d := range allTypes {
		for l := range layouts {
			r.expect(engine.Diagonal{A: 0, B: 1}, l, r.input(l, d, []int{6, 6}, small(d, 2)))
			r.expect(engine.Diagonal{A: 2, B: 0}, l, r.input(l, d, []int{5, 3, 5, 2}, small(d, 3)))
			r.expect(engine.Diagonal{A: 1, B: 3}, l, r.input(l, d, []int{2, 0, 3, 0}, small(d, 3)))
		}
	}
}

// numpy: A = (arange(120)*7 % 23 - 11).reshape(2,3,4,5); A.transpose(3,1,0,2)[::-2, 1:]
// with the slice taken before the transposition here.
func testStructureTable(r *rig) {
	want := []float64{-4, 8, -3, 9, 2, -9, 3, -8, -2, 10, -1, 11, 4, -7, 5, -6, 5, -6, 6, -5, 11, 0, -11, 1, 7, -4, 8, -3,
		-10, 2, -9, 3, -9, 3, -8, 4, -3, 9, -2, 10, -7, 5, -6, 6, -1, 11, 0, -11}
	for _, d := range numeric {
		a := r.input(compact, d, []int{2, 3, 4, 5}, tableA)
		v := r.must(r.must(a.Slice(3, 4, 3, -2)).Slice(1, 1, 2, 1))
		got, _ := r.run(engine.Permute{Axes: engine.AxesOf(3, 1, 0, 2)}, []*engine.Tensor{v}, compact)
		r.same("numpy table", got, reals(want))
	}
}

func tableA(i []int) complex128 {
	n := ((i[0]*3+i[1])*4+i[2])*5 + i[3]
	return complex(float64(n*7%23-11), 0)
}

func reals(v []float64) []complex128 {
	o := make([]complex128, len(v))
	for i, x := range v {
		o[i] = complex(x, 0)
	}
	return o
}

// testCopyKeepsBits: structure moves bits: NaN payloads and signs survive.
func testCopyKeepsBits(r *rig) {
	bits := []uint64{0x7ff8dead0000beef, 0x8000000000000000, 0xfff0000000000000, 0x7ff0000000000001, 1, 0}
	v := make([]float64, len(bits))
	for i, b := range bits {
		v[i] = math.Float64frombits(b)
	}
	t, err := engine.Upload(r.e, v, 2, 3)
	r.ok(err)
	p := r.must(engine.Apply(r.e, engine.Permute{Axes: engine.AxesOf(1, 0)}, t, nil))
	got, err := engine.Download[float64](r.e, p)
	r.ok(err)
	for i, x := range got {
		if want := bits[i%2*3+i/2]; math.Float64bits(x) != want {
			r.Fatalf("element %d: bits %x, want %x", i, math.Float64bits(x), want)
		}
	}
}

// testHighRank: rank 26 with extents of 1 and 2, against the same values in a
// low rank.
func testHighRank(r *rig) {
	ext := make([]int, 26)
	var twos []int
	for i := range ext {
		ext[i] = 1
		if i%3 == 1 {
			ext[i] = 2
			twos = append(twos, i)
		}
	}
	for _, d := range allTypes {
		for l := range layouts {
			if l == spread {
				continue // 2^26 gaps
			}
			a := r.input(l, d, ext, small(d, 4))
			r.expect(engine.Copy{}, l, a)
			r.expect(engine.Permute{Axes: engine.AxesOf(reversedAxes(26)...)}, compact, a)
			if d != engine.Bool {
				r.expect(engine.ReduceSum{Axes: engine.AxesOf(twos[1], 0, twos[4], 25)}, compact, a)
				r.expect(engine.Add{}, l, a, r.input(compact, d, ext, small(d, 5)))
			}
		}
	}
	// Contract half of the axes of two rank-26 tensors; the batch is two axes.
	for _, d := range floats {
		a, b := r.input(reversed, d, ext, small(d, 6)), r.input(negative, d, ext, small(d, 7))
		r.expect(engine.DotGeneral{
			BatchL: engine.AxesOf(twos[0], twos[3]), BatchR: engine.AxesOf(twos[3], twos[0]),
			ContractL: engine.AxesOf(twos[1], twos[2], 0, 2, 3), ContractR: engine.AxesOf(twos[5], twos[6], 2, 0, 5),
		}, compact, a, b)
	}
}
