package enginetest

import (
	"errors"
	"slices"

	"github.com/hataori/hataori-go/engine"
)

// What every operation of the vocabulary owes, whatever it computes.

// here puts specs into the engine's domain.
func (r *rig) here(in []engine.Spec) []engine.Spec {
	for i := range in {
		in[i].Domain = r.e.Target().Domain
	}
	return in
}

// every calls f with each operation, a dtype, and specs of its inputs, and the
// inferred outputs or why there are none.
func (r *rig) every(f func(name string, op engine.Op, in, out []engine.Spec, err error)) {
	for _, s := range Vocabulary() {
		for _, d := range allTypes {
			op, in := r.placed(s.Op(d)), r.here(s.In(d))
			out, err := op.Infer(in)
			f(op.Name()+" of "+d.String(), op, in, out, err)
		}
	}
}

// placed puts what an operation creates into the engine's domain.
func (r *rig) placed(op engine.Op) engine.Op { return placedIn(op, r.e.Target().Domain) }

func placedIn(op engine.Op, domain engine.Domain) engine.Op {
	switch o := op.(type) {
	case engine.Fill:
		o.Spec.Domain = domain
		return o
	case engine.Iota:
		o.Spec.Domain = domain
		return o
	case engine.Random:
		o.Spec.Domain = domain
		return o
	}
	return op
}

var elsewhere = engine.Domain{Kind: engine.Simulated, Device: 7, ID: 99}

// testEveryType: a dtype that an operation does not take is a *DTypeError.
func testEveryType(r *rig) {
	taken := map[string]bool{}
	r.every(func(name string, op engine.Op, in, _ []engine.Spec, err error) {
		_, got := r.e.Bind(op, in, nil)
		switch {
		case err != nil:
			wantAs[*engine.DTypeError](r, name, got)
		case errors.Is(got, engine.ErrUnsupported):
			wantAs[*engine.UnsupportedError](r, name, got)
		default:
			r.ok(got)
			taken[op.Name()] = true
		}
	})
	for _, s := range Vocabulary() {
		if name := s.Op(engine.Float64).Name(); !taken[name] {
			r.Errorf("%s runs on no dtype at all", name)
		}
	}
}

// testEveryDomain: an argument that lies elsewhere is a *DomainError.
func testEveryDomain(r *rig) {
	r.every(func(name string, op engine.Op, in, out []engine.Spec, err error) {
		if err != nil || r.e.Supports(op, in) != nil {
			return
		}
		for i := range in {
			moved := append([]engine.Spec(nil), in...)
			moved[i].Domain = elsewhere
			_, err := r.e.Bind(op, moved, nil)
			wantAs[*engine.DomainError](r, name, err)
		}
		for i := range out {
			moved := append([]engine.Spec(nil), out...)
			moved[i].Domain = elsewhere
			_, err := r.e.Bind(op, in, moved)
			wantAs[*engine.DomainError](r, name, err)
		}
	})
}

// testEveryCount: too many inputs, or too many outputs, are a *ShapeError.
func testEveryCount(r *rig) {
	r.every(func(name string, op engine.Op, in, out []engine.Spec, err error) {
		if err != nil || r.e.Supports(op, in) != nil {
			return
		}
		_, err = r.e.Bind(op, in, append(append([]engine.Spec(nil), out...), out[0]))
		wantAs[*engine.ShapeError](r, name+", an output too many", err)
		switch op.(type) {
		case engine.Concat, engine.Stack: // any number of inputs
			return
		}
		_, err = r.e.Bind(op, append(append([]engine.Spec(nil), in...), r.spec(engine.Float64, 2)), nil)
		wantAs[*engine.ShapeError](r, name+", an input too many", err)
	})
}

// testEveryOverlap: an output that shares one element with an input, or is an
// input where that is not allowed, is an *AliasError, and nothing is written.
// Where it is allowed, the result is that of another output.
func testEveryOverlap(r *rig) {
	for _, s := range Vocabulary() {
		for _, d := range []engine.DType{engine.Float64, engine.Bool, engine.Complex64} {
			op, in := r.placed(s.Op(d)), r.here(s.In(d))
			out, err := op.Infer(in)
			if err != nil || r.e.Supports(op, in) != nil {
				continue
			}
			for o := range out {
				for i := range in {
					if out[o].DType == in[i].DType && in[i].Elements() > 0 && out[o].Elements() > 0 {
						r.overlapping(op, in, out, o, i)
					}
				}
			}
		}
	}
}

func (r *rig) overlapping(op engine.Op, in, out []engine.Spec, o, i int) {
	r.Helper()
	n, m := in[i].Elements(), out[o].Elements()
	base := r.must(r.e.Alloc(r.spec(in[i].DType, n+m)))
	r.poison(base)
	ins, outs := make([]*engine.Tensor, len(in)), make([]*engine.Tensor, len(out))
	for k, s := range in {
		ins[k] = r.input(compact, s.DType, s.Shape.Ints(), func([]int) complex128 { return 1 })
	}
	for k, s := range out {
		outs[k] = r.must(r.e.Alloc(s))
	}
	ins[i] = r.must(r.must(base.Slice(0, 0, n, 1)).Reshape(in[i].Shape.Ints()...))
	outs[o] = r.must(r.must(base.Slice(0, n-1, m, 1)).Reshape(out[o].Shape.Ints()...))
	before := r.read(base)
	k, err := r.e.Bind(op, in, nil)
	r.ok(err)
	if n > 1 || m > 1 { // one element alone is the input itself
		wantAs[*engine.AliasError](r, op.Name()+" with an element shared", r.e.Run(k, outs, ins))
	}
	if in[i] == out[o] && !op.MayAlias(o, i) {
		outs[o] = ins[i]
		wantAs[*engine.AliasError](r, op.Name()+" in place", r.e.Run(k, outs, ins))
	}
	r.same(op.Name()+" refused", r.read(base), before)
	if in[i] == out[o] && op.MayAlias(o, i) {
		r.write(ins[i], nonzero(small(in[i].DType, 8)))
		outs[o] = r.must(r.e.Alloc(out[o]))
		r.ok(r.e.Run(k, outs, ins))
		want := r.read(outs[o])
		outs[o] = ins[i]
		r.ok(r.e.Run(k, outs, ins))
		r.same(op.Name()+" in place", r.read(ins[i]), want)
	}
}

// manyAxes is a shape of 26 axes, nine of which have two positions, and those.
func manyAxes() (ext, twos []int) {
	ext = make([]int, 26)
	for i := range ext {
		ext[i] = 1
		if i%3 == 1 {
			ext[i] = 2
			twos = append(twos, i)
		}
	}
	return ext, twos
}

// without drops axis k of a shape.
func without(ext []int, k int) []int { return append(append([]int(nil), ext[:k]...), ext[k+1:]...) }

// filled are 26 entries, those at axes v.
func filled(def, v int, axes ...int) engine.List {
	all := make([]int, 26)
	for i := range all {
		all[i] = def
	}
	for _, a := range axes {
		all[a] = v
	}
	return engine.ListOf(all...)
}

func risingAxes(n int) []int {
	p := reversedAxes(n)
	slices.Reverse(p)
	return p
}

// testManyAxes runs every operation on tensors of 26 axes against the reference.
func testManyAxes(r *rig) {
	ext, twos := manyAxes()
	for n, ops := range [][]engine.Op{1: unaries(), 2: binaries(), 3: ternaries()} {
		for k, op := range ops {
			types := typed(op, n)
			d := types[len(types)-1]
			ins := make([]*engine.Tensor, n)
			for i := range ins {
				t := d
				if op == engine.Select && i == 0 {
					t = engine.Bool
				}
				ins[i] = r.input([]layout{negative, reversed, offset}[i], t, ext, nonzero(varied(t, 20+k)))
			}
			r.expectNear(op, reversed, tolerance(op, d), ins...)
		}
	}
	for k, f := range reductions() {
		op := engine.Reduce{F: f, Axes: engine.AxesOf(twos[6], 0, twos[2], 25)}
		types := typed(engine.Reduce{F: f}, 1)
		d := types[len(types)-1]
		r.expectNear(op, negative, allowance{ulps: reductionUlps(f)}, r.input(reversed, d, ext, r.reducible(f, d, k)))
	}
	a, b := twos[3], twos[7]
	long := append([]int(nil), ext...)
	long[b] = 4
	wide := append([]int(nil), ext...)
	wide[0], wide[25] = 3, 2
	for _, c := range []moverCase{
		{engine.Mul{}, [][]int{ext, ext}}, {engine.Scale{By: engine.By(3)}, [][]int{ext}}, {engine.Conj{}, [][]int{ext}},
		{engine.Cast{To: engine.Float32}, [][]int{ext}}, {engine.Convert{To: engine.Complex128}, [][]int{ext}},
		{engine.CumSum{Axis: a}, [][]int{ext}}, {engine.CumProd{Axis: b}, [][]int{ext}},
		{engine.Sort{Axis: a}, [][]int{ext}}, {engine.ArgSort{Axis: b, Descending: true}, [][]int{ext}}, {engine.TopK{Axis: a, K: 1}, [][]int{ext}},
		{engine.Reshape{Shape: engine.ShapeOf(8, 64)}, [][]int{ext}}, {engine.Diagonal{A: a, B: b}, [][]int{ext}},
		{engine.BroadcastInDim{Shape: engine.ShapeOf(wide...), Axes: engine.AxesOf(risingAxes(26)...)}, [][]int{ext}},
		{engine.Slice{Start: filled(0, 1, a, b), Count: filled(1, 2, twos...), Step: filled(1, -1, a, b)}, [][]int{ext}},
		{engine.Pad{Low: filled(0, 1, a), High: filled(0, 1, 25), Value: engine.By(5)}, [][]int{ext}},
		{engine.Concat{Axis: a}, [][]int{ext, ext}}, {engine.Stack{Axis: b}, [][]int{without(ext, b), without(ext, b), without(ext, b)}},
		{engine.Split{Axis: b, Sizes: list(1, 0, 3)}, [][]int{long}}, {engine.Reverse{Axes: engine.AxesOf(a, b)}, [][]int{ext}},
		{engine.Roll{Axis: b, Shift: 3}, [][]int{long}}, {engine.DiagonalIn{A: a, B: b}, [][]int{without(ext, b)}},
		{engine.Tril{}, [][]int{wide}}, {engine.Triu{K: 1}, [][]int{wide}},
	} {
		ins := make([]*engine.Tensor, len(c.in))
		for i, s := range c.in {
			ins[i] = r.input([]layout{negative, reversed, offset}[i%3], engine.Float64, s, small(engine.Float64, 30+i))
		}
		r.expectAll(c.op, reversed, ins...)
	}
	r.indexManyAxes(ext, twos)
	spec := r.spec(engine.Float64, ext...)
	for _, op := range []engine.Op{engine.Fill{Spec: spec, Value: engine.By(2)}, engine.Iota{Spec: spec, Axis: a}, engine.Random{Spec: spec, Seed: 9}} {
		r.created(op, negative)
	}
}

func (r *rig) indexManyAxes(ext, twos []int) {
	r.Helper()
	a := twos[4]
	x := r.input(negative, engine.Complex128, ext, small(engine.Complex128, 40))
	index := r.input(compact, engine.Int32, []int{3}, func(i []int) complex128 { return complex(float64(i[0]%2), 0) })
	three := append([]int(nil), ext...)
	three[a] = 3
	updates := r.input(reversed, engine.Complex128, three, small(engine.Complex128, 41))
	along := r.input(reversed, engine.Int64, three, func(i []int) complex128 { return complex(float64(sumOf(i)%2), 0) })
	r.expectAll(engine.Gather{Axis: a}, reversed, x, index)
	r.expectAll(engine.Scatter{Axis: a}, negative, x, index, updates)
	r.expectAll(engine.Scatter{Axis: a, Add: true}, reversed, x, index, updates)
	r.expectAll(engine.TakeAlong{Axis: a}, negative, x, along)
}
