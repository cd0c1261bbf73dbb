package enginetest

import (
	"math"
	"math/cmplx"
	"testing"

	"github.com/hataori/hataori-go/engine"
)

// testDotInto: random contractions with factors into outputs that hold something,
// from operands in every layout, some of which repeat their elements, exact in
// integers, against the reference engine. Some are large enough for a library, and
// for more than one worker.
func testDotInto(r *rig) {
	cases := 120
	if testing.Short() {
		cases = 60
	}
	for n := range cases {
		d := numeric[n%len(numeric)]
		var op engine.DotGeneral
		var left, right *engine.Tensor
		switch {
		case n == 3 || n == 4: // float64 and complex64, for more than one worker
			op, left, right = r.dotOf(d, func() int { return 9 + r.rnd.IntN(2) }, 0, 2, 2, 2)
		case n%4 == 0:
			op, left, right = r.dotOf(d, func() int { return 3 + r.rnd.IntN(5) }, r.rnd.IntN(2), 2, 2, 2)
		default:
			op, left, right = r.randomDot(d)
		}
		factors := []engine.Factor{{}, engine.By(0), engine.By(1), engine.By(-2)}
		if d.IsComplex() {
			factors = append(factors, engine.By(1-2i))
		}
		op.Alpha, op.Beta = factors[r.rnd.IntN(len(factors))], factors[r.rnd.IntN(len(factors))]
		if r.rnd.IntN(3) == 0 {
			left = r.repeated(left)
		}
		if r.rnd.IntN(3) == 0 {
			right = r.repeated(right)
		}
		r.expectInto(op, layout(r.rnd.IntN(int(layouts))), left, right)
	}
}

// repeated is t with the first element along some axes standing for all.
func (r *rig) repeated(t *engine.Tensor) *engine.Tensor {
	r.Helper()
	s := t.Spec()
	strides := s.AppendStrides(nil)
	for i := range strides {
		if r.rnd.IntN(2) == 0 {
			strides[i] = 0
		}
	}
	s.Strides = engine.StridesOf(strides...)
	return r.must(engine.NewTensor(s, t.Offset(), t.Buffer()))
}

// expectInto runs op into a tensor that holds NaN, where op does not read it, or
// small integers, and compares with the reference engine, exactly. What lies around
// the output must be untouched.
func (r *rig) expectInto(op engine.DotGeneral, lay layout, ins ...*engine.Tensor) {
	r.Helper()
	specs, hosts, hostSpecs := make([]engine.Spec, len(ins)), make([]*engine.Tensor, len(ins)), make([]engine.Spec, len(ins))
	for i, t := range ins {
		specs[i] = t.Spec()
		hosts[i] = pack(t.DType(), r.read(t), t.Shape().Ints())
		hostSpecs[i] = hosts[i].Spec()
	}
	inferred, err := op.Infer(specs)
	r.ok(err)
	d, ext := inferred[0].DType, inferred[0].Shape.Ints()
	if !r.supports(op, specs, d) {
		return
	}
	before := small(d, 90)
	if op.Beta.Or(0) == 0 && d.IsFloat() {
		before = func([]int) complex128 { return cmplx.NaN() }
	}
	out, base := r.tensor(lay, d, ext)
	r.write(out, before)
	k, err := r.e.Bind(op, specs, []engine.Spec{out.Spec()})
	r.ok(err)
	r.ok(r.e.Run(k, []*engine.Tensor{out}, ins))
	got := r.read(out)
	r.poison(out)
	for i, z := range r.read(base) {
		if z != poison {
			r.Fatalf("%+v %v into %v: element %d of the buffer, outside the output, was changed to %v", op, specs, lay, i, z)
		}
	}
	want := host(d, ext, before)
	k, err = r.oracle.Bind(op, hostSpecs, nil)
	r.ok(err)
	r.ok(r.oracle.Run(k, []*engine.Tensor{want}, hosts))
	r.same("DotGeneral into", got, (&rig{T: r.T, e: r.oracle}).read(want))
}

// supports is false where the engine lacks an operation of integers.
func (r *rig) supports(op engine.Op, in []engine.Spec, d engine.DType) bool {
	r.Helper()
	err := r.e.Supports(op, in)
	if err == nil {
		return true
	}
	if wantAs[*engine.UnsupportedError](r, op.Name(), err); d.IsFloat() {
		r.Fatal(err)
	}
	return false
}

// square is a product of n×k by k×n, all of whose elements are in, into one that is
// full of out, as a contraction or as the one job of grouped ones.
type squareProduct struct {
	d           engine.DType
	n, k        int
	alpha, beta complex128
	in, out     complex128
	grouped     bool
}

func (r *rig) squareProduct(p squareProduct) []complex128 {
	r.Helper()
	full := func(z complex128) func([]int) complex128 { return func([]int) complex128 { return z } }
	a, b := r.input(compact, p.d, []int{p.n, p.k}, full(p.in)), r.input(compact, p.d, []int{p.k, p.n}, full(p.in))
	c := r.input(compact, p.d, []int{p.n, p.n}, full(p.out))
	if !p.grouped {
		op := matMul
		op.Alpha, op.Beta = engine.By(p.alpha), engine.By(p.beta)
		r.ok(engine.DotInto(r.e, op, c, a, b))
		return r.read(c)
	}
	job := engine.Job{M: p.n, N: p.n, K: p.k, A: engine.Block{Row: p.k, Col: 1}, B: engine.Block{Row: p.n, Col: 1}, C: engine.Block{Row: p.n, Col: 1}}
	op := engine.GroupedDot{Jobs: engine.JobsOf(job), Elements: p.n * p.n, Alpha: engine.By(p.alpha), Beta: engine.By(p.beta)}
	flat := r.must(c.Reshape(p.n * p.n))
	r.ok(engine.ApplyInto(r.e, op, flat, r.must(a.Reshape(p.n*p.k)), r.must(b.Reshape(p.k*p.n))))
	return r.read(flat)
}

// testDotFactors: factors that are no numbers, and those that forbid to read.
func testDotFactors(r *rig) {
	inf, nan := math.Inf(1), math.NaN()
	odd := []complex128{complex(inf, 0), complex(-inf, 0), complex(nan, 0)}
	for _, d := range floats {
		odd := odd
		if d.IsComplex() {
			odd = append(odd[:3:3], complex(0, inf), complex(nan, 1))
		}
		for _, n := range []int{3, 40} {
			for _, grouped := range []bool{false, true} {
				all := func(p squareProduct, what string, ok func(x float64) bool) {
					r.Helper()
					p.d, p.n, p.grouped = d, n, grouped
					for i, z := range r.squareProduct(p) {
						if !ok(real(z)) || d.IsComplex() && !ok(imag(z)) {
							r.Fatalf("%+v: element %d is %v, want %s", p, i, z, what)
						}
					}
				}
				is := func(p squareProduct, want complex128) {
					r.Helper()
					p.d, p.n, p.grouped = d, n, grouped
					for i, z := range r.squareProduct(p) {
						if z != want {
							r.Fatalf("%+v: element %d is %v, want %v", p, i, z, want)
						}
					}
				}
				notFinite := func(x float64) bool { return x-x != 0 }
				for _, f := range odd {
					for _, in := range []complex128{1, 0} {
						all(squareProduct{k: n, alpha: f, in: in, out: cmplx.NaN()}, "no finite part", notFinite)
						all(squareProduct{k: n, alpha: f, beta: 1, in: in, out: 2}, "no finite part", notFinite)
					}
					all(squareProduct{k: n, alpha: 1, beta: f, in: 1, out: 2}, "no finite part", notFinite)
					// Nothing to sum, and Alpha 0, leave Beta · C.
					is(squareProduct{k: 0, alpha: f, in: 1, out: cmplx.NaN()}, 0)
					is(squareProduct{k: 0, alpha: f, beta: 1, in: 1, out: 2}, 2)
					is(squareProduct{k: 0, alpha: f, beta: -3, in: 1, out: 2}, -6)
				}
				for _, in := range []complex128{cmplx.NaN(), complex(inf, 0)} {
					is(squareProduct{k: n, alpha: 0, in: in, out: cmplx.NaN()}, 0)
					is(squareProduct{k: n, alpha: 0, beta: 1, in: in, out: 2}, 2)
					is(squareProduct{k: n, alpha: 0, beta: -3, in: in, out: 2}, -6)
				}
				is(squareProduct{k: n, alpha: -2, in: 1, out: complex(inf, inf)}, complex(-2*float64(n), 0))
			}
		}
	}
}
