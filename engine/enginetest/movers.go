package enginetest

import (
	"errors"
	"fmt"
	"math"

	"github.com/hataori/hataori-go/engine"
)

// moverCase is a structural operation and shapes of inputs that it takes.
type moverCase struct {
	op engine.Op
	in [][]int
}

func list(v ...int) engine.List { return engine.ListOf(v...) }

func moverCases() []moverCase {
	axes, shape := engine.AxesOf, engine.ShapeOf
	return []moverCase{
		{engine.BroadcastInDim{Shape: shape(4, 3, 5), Axes: axes(1)}, [][]int{{3}}},
		{engine.BroadcastInDim{Shape: shape(2, 3, 4), Axes: axes(0, 2)}, [][]int{{1, 4}}},
		{engine.BroadcastInDim{Shape: shape(3, 2)}, [][]int{{}}},
		{engine.BroadcastInDim{Shape: shape(0, 2), Axes: axes(1)}, [][]int{{2}}},
		{engine.Slice{Start: list(1, 8), Count: list(2, 3), Step: list(2, -3)}, [][]int{{4, 9}}},
		{engine.Slice{Start: list(0, 0), Count: list(0, 2), Step: list(1, 1)}, [][]int{{4, 9}}},
		{engine.Slice{}, [][]int{{}}},
		{engine.Pad{Low: list(1, 0), High: list(2, 3)}, [][]int{{3, 4}}},
		{engine.Pad{Low: list(0, 2), High: list(0, 1), Value: engine.By(-5)}, [][]int{{3, 0}}},
		{engine.Concat{Axis: 1}, [][]int{{2, 3}, {2, 0}, {2, 5}, {2, 1}, {2, 2}}},
		{engine.Concat{Axis: 0}, [][]int{{4}}},
		{engine.Stack{Axis: 1}, [][]int{{2, 3}, {2, 3}, {2, 3}}},
		{engine.Stack{Axis: 0}, [][]int{{}, {}}},
		{engine.Split{Axis: 1, Sizes: list(2, 0, 3)}, [][]int{{3, 5}}},
		{engine.Split{Axis: 0, Sizes: list(4)}, [][]int{{4, 2}}},
		{engine.Reverse{Axes: axes(2, 0)}, [][]int{{2, 3, 4}}},
		{engine.Reverse{Axes: axes(0)}, [][]int{{0, 3}}},
		{engine.Roll{Axis: 1, Shift: 2}, [][]int{{3, 5}}},
		{engine.Roll{Axis: 0, Shift: -7}, [][]int{{5}}},
		{engine.Roll{Axis: 0, Shift: 3}, [][]int{{0, 2}}},
		{engine.DiagonalIn{A: 0, B: 1}, [][]int{{4}}},
		{engine.DiagonalIn{A: 2, B: 0}, [][]int{{3, 4}}},
		{engine.DiagonalIn{A: 0, B: 2}, [][]int{{3, 4}}},
		{engine.Tril{}, [][]int{{4, 6}}},
		{engine.Tril{K: 2}, [][]int{{2, 5, 3}}},
		{engine.Tril{K: math.MinInt}, [][]int{{3, 3}}},
		{engine.Triu{K: -1}, [][]int{{5, 4}}},
		{engine.Triu{K: math.MaxInt}, [][]int{{2, 3}}},
		{engine.Triu{K: 1}, [][]int{{3, 3, 0}}},
		{engine.FuseAxes{Order: axes(1, 0), Counts: list(2)}, [][]int{{3, 4}}},
		{engine.FuseAxes{Order: axes(0, 2, 1, 3), Counts: list(2, 2)}, [][]int{{2, 3, 4, 5}}},
		{engine.FuseAxes{Order: axes(2, 0, 1), Counts: list(0, 1, 2, 0)}, [][]int{{2, 3, 4}}},
		{engine.FuseAxes{Order: axes(1, 0), Counts: list(1, 1)}, [][]int{{3, 0}}},
		{engine.FuseAxes{}, [][]int{{}}},
		{engine.SplitAxes{Shape: shape(3, 4), Order: axes(1, 0), Counts: list(2)}, [][]int{{12}}},
		{engine.SplitAxes{Shape: shape(2, 3, 4, 5), Order: axes(0, 2, 1, 3), Counts: list(2, 2)}, [][]int{{8, 15}}},
		{engine.SplitAxes{Shape: shape(2, 3, 4), Order: axes(2, 0, 1), Counts: list(0, 1, 2)}, [][]int{{1, 4, 6}}},
		{engine.SplitAxes{Shape: shape(0, 2), Order: axes(0, 1), Counts: list(2)}, [][]int{{0}}},
	}
}

// testMovers runs the structural operations on every dtype.
func testMovers(r *rig) {
	for n, c := range moverCases() {
		for t, d := range allTypes {
			l := layout((n + t) % int(layouts))
			ins := make([]*engine.Tensor, len(c.in))
			for i, s := range c.in {
				ins[i] = r.input((l+layout(i))%layouts, d, s, small(d, 70+i))
			}
			if p, ok := c.op.(engine.Pad); ok && d == engine.Bool && p.Value.Given() {
				p.Value = engine.By(1)
				c.op = p
			}
			r.expectAll(c.op, (l+2)%layouts, ins...)
		}
	}
}

// expectAll runs an operation of any number of outputs and compares with the
// reference engine, exactly.
func (r *rig) expectAll(op engine.Op, lay layout, ins ...*engine.Tensor) {
	r.Helper()
	specs, hosts, hostSpecs := make([]engine.Spec, len(ins)), make([]*engine.Tensor, len(ins)), make([]engine.Spec, len(ins))
	for i, t := range ins {
		specs[i], hosts[i] = t.Spec(), pack(t.DType(), r.read(t), t.Shape().Ints())
		hostSpecs[i] = hosts[i].Spec()
	}
	inferred, err := op.Infer(specs)
	r.ok(err)
	if err := r.e.Supports(op, specs); errors.Is(err, engine.ErrUnsupported) && !specs[0].DType.IsFloat() {
		return
	}
	outs, outSpecs := make([]*engine.Tensor, len(inferred)), make([]engine.Spec, len(inferred))
	bases := make([]*engine.Tensor, len(inferred))
	for i, s := range inferred {
		outs[i], bases[i] = r.tensor(lay, s.DType, s.Shape.Ints())
		outSpecs[i] = outs[i].Spec()
	}
	k, err := r.e.Bind(op, specs, outSpecs)
	r.ok(err)
	r.ok(r.e.Run(k, outs, ins))
	want, err := engine.Eval(r.oracle, op, hosts...)
	r.ok(err)
	for i := range outs {
		what := fmt.Sprintf("%s %+v %v → output %d, %v", op.Name(), op, describe(ins), i, lay)
		r.same(what, r.read(outs[i]), (&rig{T: r.T, e: r.oracle}).read(want[i]))
		r.poison(outs[i])
		pattern := complex128(poison)
		if outs[i].DType() == engine.Bool {
			pattern = 1
		}
		for j, z := range r.read(bases[i]) {
			if z != pattern {
				r.Fatalf("%s: element %d of the buffer, outside the output, was changed to %v", what, j, z)
			}
		}
	}
}

// testMoverRules: parameters that do not fit name their axis.
func testMoverRules(r *rig) {
	s, v := r.spec(engine.Float64, 2, 3), r.spec(engine.Float64, 3)
	axes, shape := engine.AxesOf, engine.ShapeOf
	for _, c := range []struct {
		op   engine.Op
		in   []engine.Spec
		axis int
	}{
		{engine.BroadcastInDim{Shape: shape(4, 3), Axes: axes(0, 1)}, []engine.Spec{s}, 0},
		{engine.BroadcastInDim{Shape: shape(2, 3), Axes: axes(1)}, []engine.Spec{s}, engine.NoAxis},
		{engine.BroadcastInDim{Shape: shape(3, 2), Axes: axes(1, 0)}, []engine.Spec{s}, 1},
		{engine.BroadcastInDim{Shape: shape(2, 3), Axes: axes(0, 2)}, []engine.Spec{s}, 2},
		{engine.Slice{Start: list(0), Count: list(1), Step: list(1)}, []engine.Spec{s}, engine.NoAxis},
		{engine.Slice{Start: list(0, 1), Count: list(1, 3), Step: list(1, 1)}, []engine.Spec{s}, 1},
		{engine.Pad{Low: list(0, -1), High: list(0, 0)}, []engine.Spec{s}, 1},
		{engine.Pad{Low: list(0, math.MaxInt), High: list(0, 0)}, []engine.Spec{s}, 1},
		{engine.Concat{Axis: 0}, []engine.Spec{s, v}, engine.NoAxis},
		{engine.Concat{Axis: 0}, []engine.Spec{s, r.spec(engine.Float64, 2, 4)}, 1},
		{engine.Concat{Axis: 0}, nil, engine.NoAxis},
		{engine.Stack{Axis: 3}, []engine.Spec{s, s}, 3},
		{engine.Split{Axis: 1, Sizes: list(1, 1)}, []engine.Spec{s}, 1},
		{engine.Split{Axis: 1, Sizes: list(4, -1)}, []engine.Spec{s}, 1},
		{engine.Reverse{Axes: axes(1, 1)}, []engine.Spec{s}, 1},
		{engine.Roll{Axis: 2}, []engine.Spec{s}, 2},
		{engine.DiagonalIn{A: 1, B: 1}, []engine.Spec{v}, 1},
		{engine.Tril{}, []engine.Spec{v}, engine.NoAxis},
		{engine.FuseAxes{Order: axes(0, 0), Counts: list(2)}, []engine.Spec{s}, 0},
		{engine.FuseAxes{Order: axes(0, 1), Counts: list(1)}, []engine.Spec{s}, engine.NoAxis},
		{engine.FuseAxes{Order: axes(0, 1), Counts: list(3, -1)}, []engine.Spec{s}, engine.NoAxis},
		{engine.SplitAxes{Shape: shape(2, 2), Order: axes(0, 1), Counts: list(2)}, []engine.Spec{v}, 0},
		{engine.SplitAxes{Shape: shape(2, 3), Order: axes(0, 1), Counts: list(2)}, []engine.Spec{s}, engine.NoAxis},
		{engine.SplitAxes{Shape: shape(-3), Order: axes(0), Counts: list(1)}, []engine.Spec{v}, 0},
		{engine.ApplyMatrix{Axis: 2}, []engine.Spec{s, s}, 2},
		{engine.ApplyMatrix{Axis: 0}, []engine.Spec{s, v}, engine.NoAxis},
		{engine.ApplyMatrix{Axis: 0}, []engine.Spec{s, s}, 1},
		{engine.TopK{Axis: 1, K: 4}, []engine.Spec{s}, 1},
		{engine.Gather{Axis: 2}, []engine.Spec{s, r.spec(engine.Int64, 2)}, 2},
		{engine.TakeAlong{Axis: 1}, []engine.Spec{s, r.spec(engine.Int64, 3, 3)}, 0},
		{engine.Scatter{Axis: 1}, []engine.Spec{s, r.spec(engine.Int64, 2), s}, engine.NoAxis},
	} {
		_, err := r.e.Bind(c.op, c.in, nil)
		if e := wantAs[*engine.ShapeError](r, c.op.Name(), err); e.Axis != c.axis || e.Op != c.op.Name() {
			r.Fatalf("%v names axis %d, want %d", err, e.Axis, c.axis)
		}
	}
	for _, c := range []struct {
		op engine.Op
		in []engine.Spec
	}{
		{engine.Pad{Low: list(0), High: list(1), Value: engine.By(2i)}, []engine.Spec{v}},
		{engine.Pad{Low: list(0), High: list(1), Value: engine.By(-5)}, []engine.Spec{r.spec(engine.Bool, 3)}},
		{engine.Fill{Spec: r.spec(engine.Bool, 3), Value: engine.By(0.5)}, nil},
		{engine.Concat{}, []engine.Spec{v, r.spec(engine.Float32, 3)}},
		{engine.Gather{}, []engine.Spec{v, v}},
		{engine.Scatter{}, []engine.Spec{v, r.spec(engine.Int32, 1), r.spec(engine.Float32, 1)}},
		{engine.Scatter{Add: true}, []engine.Spec{r.spec(engine.Bool, 3), r.spec(engine.Int32, 1), r.spec(engine.Bool, 1)}},
		{engine.Sort{}, []engine.Spec{r.spec(engine.Complex128, 3)}},
	} {
		_, err := r.e.Bind(c.op, c.in, nil)
		wantAs[*engine.DTypeError](r, c.op.Name(), err)
	}
}

// testIndexing runs gathers and scatters, with repeated indices.
func testIndexing(r *rig) {
	xs := [][]int{{6}, {4, 5}, {3, 4, 5}, {2, 3, 2, 3}, {2, 3, 4, 0}, {0, 3, 4}}
	is := [][]int{{}, {7}, {2, 3}, {0}}
	for t, d := range allTypes {
		for n, x := range xs {
			for axis := range x {
				if x[axis] == 0 { // no index is inside
					continue
				}
				for m, s := range is {
					l := layout((t + n + m + axis) % int(layouts))
					it := []engine.DType{engine.Int32, engine.Int64}[(n+m)%2]
					index := r.input((l+1)%layouts, it, s, func(i []int) complex128 {
						return complex(float64((3*len(i)+7*sumOf(i))%x[axis]), 0)
					})
					a := r.input(l, d, x, small(d, 80))
					r.expectAll(engine.Gather{Axis: axis}, (l+2)%layouts, a, index)
					us := append(append(append([]int{}, x[:axis]...), s...), x[axis+1:]...)
					u := r.input((l+3)%layouts, d, us, small(d, 81))
					r.expectAll(engine.Scatter{Axis: axis}, (l+4)%layouts, a, index, u)
					if d != engine.Bool {
						r.expectAll(engine.Scatter{Axis: axis, Add: true}, (l+4)%layouts, a, index, u)
					}
				}
				along := append([]int{}, x...)
				along[axis] = 5
				index := r.input(mixed, engine.Int64, along, func(i []int) complex128 { return complex(float64((5*sumOf(i)+i[axis])%x[axis]), 0) })
				r.expectAll(engine.TakeAlong{Axis: axis}, layout(t%int(layouts)), r.input(spread, d, x, small(d, 82)), index)
			}
		}
		if d != engine.Bool {
			r.scatterInPlace(d)
		}
	}
	x := r.input(compact, engine.Float64, []int{3, 2}, small(engine.Float64, 1))
	for _, bad := range []float64{3, -1} {
		index := r.input(mixed, engine.Int32, []int{2, 2}, func(i []int) complex128 { return complex(float64(i[0]*i[1])*bad, 0) })
		u := r.input(compact, engine.Float64, []int{2, 2, 2}, small(engine.Float64, 2))
		r.refused(engine.Gather{}, engine.ErrIndexRange, engine.Input(1), []int{1, 1}, x, index)
		r.refused(engine.Scatter{}, engine.ErrIndexRange, engine.Input(1), []int{1, 1}, x, index, u)
		r.refused(engine.TakeAlong{}, engine.ErrIndexRange, engine.Input(1), []int{1, 1}, x, index)
	}
}

func (r *rig) scatterInPlace(d engine.DType) {
	r.Helper()
	x := r.input(negative, d, []int{4}, func(i []int) complex128 { return complex(float64(i[0]), 0) })
	index := r.input(compact, engine.Int64, []int{3}, func(i []int) complex128 { return complex(float64(2*(i[0]/2)), 0) })
	u := r.input(compact, d, []int{3}, func(i []int) complex128 { return complex(float64(10*i[0]+10), 0) })
	op := engine.Scatter{Add: true}
	if err := r.e.Supports(op, []engine.Spec{x.Spec(), index.Spec(), u.Spec()}); errors.Is(err, engine.ErrUnsupported) && !d.IsFloat() {
		return
	}
	r.ok(engine.EvalInto(r.e, op, []*engine.Tensor{x}, x, index, u))
	r.same("scatter-add in place", r.read(x), []complex128{30, 1, 32, 3})
	err := engine.EvalInto(r.e, engine.Scatter{}, []*engine.Tensor{u}, u, index, u)
	wantAs[*engine.AliasError](r, "Scatter over its updates", err)
}

func sumOf(v []int) (n int) {
	for _, x := range v {
		n += x
	}
	return n
}

// testSorting sorts lines with ties and NaN.
func testSorting(r *rig) {
	r.sortsSpecials()
	for _, d := range realTypes {
		for n, s := range [][]int{{1}, {40}, {5, 7}, {3, 0}, {4, 2, 6}} {
			for axis := range s {
				a := r.input(layout(n%int(layouts)), d, s, varied(d, 90+n))
				for _, down := range []bool{false, true} {
					r.expectAll(engine.Sort{Axis: axis, Descending: down}, mixed, a)
					r.expectAll(engine.ArgSort{Axis: axis, Descending: down}, spread, a)
				}
				r.expectAll(engine.TopK{Axis: axis, K: (s[axis] + 1) / 2}, negative, a)
				r.expectAll(engine.TopK{Axis: axis, K: 0}, compact, a)
			}
		}
	}
}

// sortsSpecials: the order of special values is numpy's (sort, stable argsort, argmax and
// argmin of the same array), falling from the greatest, which is NaN.
func (r *rig) sortsSpecials() {
	r.Helper()
	inf, nan, zero := math.Inf(1), math.NaN(), math.Copysign(0, -1)
	x := r.input(spread, engine.Float64, []int{8}, func(i []int) complex128 {
		return complex([]float64{nan, 1, zero, 0, inf, -inf, nan, 1}[i[0]], 0)
	})
	falls := []float64{nan, nan, inf, 1, 1, zero, 0, -inf}
	for _, c := range []struct {
		op   engine.Op
		want []float64
	}{
		{engine.Sort{}, []float64{-inf, zero, 0, 1, 1, inf, nan, nan}},
		{engine.ArgSort{}, []float64{5, 2, 3, 1, 7, 4, 0, 6}},
		{engine.Sort{Descending: true}, falls},
		{engine.ArgSort{Descending: true}, []float64{0, 6, 4, 1, 7, 2, 3, 5}},
		{engine.Reduce{F: engine.ArgMax, Axes: engine.AxesOf(0)}, []float64{0}},
		{engine.Reduce{F: engine.ArgMin, Axes: engine.AxesOf(0)}, []float64{0}},
	} {
		got, _ := r.run(c.op, []*engine.Tensor{x}, compact)
		r.same(c.op.Name(), got, reals(c.want))
		r.zeros(c.op.Name(), c.op, got, reals(c.want))
	}
	outs, err := engine.Eval(r.e, engine.TopK{K: 6}, x)
	r.ok(err)
	got := r.read(outs[0])
	r.same("TopK", got, reals(falls[:6]))
	r.zeros("TopK", engine.TopK{}, got, reals(falls[:6]))
	r.same("TopK positions", r.read(outs[1]), reals([]float64{0, 6, 4, 1, 7, 2}))
}
