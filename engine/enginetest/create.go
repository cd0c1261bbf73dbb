package enginetest

import (
	"math"

	"github.com/hataori/hataori-go/engine"
)

// testCreate fills tensors of every dtype in every layout.
func testCreate(r *rig) {
	for t, d := range allTypes {
		for k, s := range functionShapes {
			l := layout((k + t) % int(layouts))
			spec := r.spec(d, s...)
			value := engine.By(3)
			switch {
			case d.IsComplex():
				value = engine.By(1.1 - 2i)
			case d == engine.Bool:
				value = engine.By(1)
			}
			r.created(engine.Fill{Spec: spec, Value: value}, l)
			r.created(engine.Fill{Spec: spec}, l)
			r.created(engine.Random{Spec: spec, Seed: 1 << 40, Stream: 7, First: 1<<32 - 2}, l)
			if d.IsFloat() {
				r.created(engine.Random{Spec: spec, Distribution: engine.Normal, Seed: 5}, l)
			}
			for axis := range s {
				if d != engine.Bool {
					r.created(engine.Iota{Spec: spec, Axis: axis}, l)
				}
			}
		}
	}
	r.same("Eye", r.read(r.must(engine.Eye(r.e, engine.Int32, 3))), reals([]float64{1, 0, 0, 0, 1, 0, 0, 0, 1}))
	r.same("Arange", r.read(r.must(engine.Arange(r.e, engine.Float32, 4))), reals([]float64{0, 1, 2, 3}))
	r.same("Zeros", r.read(r.must(engine.Zeros(r.e, engine.Complex64, 2))), reals([]float64{0, 0}))
	_, err := engine.Rand(r.e, engine.Random{Distribution: engine.Normal}, engine.Int32, 3)
	wantAs[*engine.DTypeError](r, "normal integers", err)
	_, err = engine.Zeros(r.e, engine.Float64, -1)
	wantAs[*engine.ShapeError](r, "negative extent", err)
}

// created runs an operation without inputs and compares with the reference.
func (r *rig) created(op engine.Op, l layout) {
	r.Helper()
	inferred, err := op.Infer(nil)
	r.ok(err)
	out, _ := r.tensor(l, inferred[0].DType, inferred[0].Shape.Ints())
	r.ok(engine.EvalInto(r.e, op, []*engine.Tensor{out}))
	o := &rig{T: r.T, e: r.oracle}
	want := r.must(r.oracle.Alloc(engine.SpecOf(out.DType(), out.Shape().Ints()...)))
	op = placedIn(op, engine.Domain{}) // the oracle's
	r.ok(engine.EvalInto(r.oracle, op, []*engine.Tensor{want}))
	r.near(op.Name(), out.DType(), allowance{ulps: Ulps}, r.read(out), o.read(want))
}

// testRandom: pieces join, and the moments are those of the distributions,
// within five standard errors.
func testRandom(r *rig) {
	draw := func(d engine.Distribution, first, n int) []complex128 {
		return r.read(r.must(engine.Rand(r.e, engine.Random{Distribution: d, Seed: 42, First: uint64(first)}, engine.Float64, n)))
	}
	const n = 20000
	for d, m := range map[engine.Distribution][3]float64{engine.Uniform: {0.5, 1.0 / 12, 1.0 / 180}, engine.Normal: {0, 1, 2}} {
		all := draw(d, 0, n)
		r.same("pieces", append(draw(d, 0, 7), draw(d, 7, n-7)...), all)
		mean, variance := 0.0, 0.0
		for _, z := range all {
			mean += real(z) / n
		}
		for _, z := range all {
			variance += (real(z) - m[0]) * (real(z) - m[0]) / n
		}
		if e := math.Abs(mean - m[0]); e > 5*math.Sqrt(m[1]/n) {
			r.Fatalf("distribution %d: mean %v", d, mean)
		}
		if e := math.Abs(variance - m[1]); e > 5*math.Sqrt(m[2]/n) {
			r.Fatalf("distribution %d: variance %v", d, variance)
		}
	}
}
