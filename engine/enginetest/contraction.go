package enginetest

import (
	"errors"
	"math"
	"math/cmplx"
	"slices"
	"strings"

	"github.com/hataori/hataori-go/engine"
)

// testContractionRules: what is wrong with a contraction is said, by type and in
// words, when it is bound.
func testContractionRules(r *rig) {
	f64 := func(extents ...int) engine.Spec { return r.spec(engine.Float64, extents...) }
	axes := engine.AxesOf
	many := slices.Repeat([]int{1}, engine.MaxRank/2+1)
	huge := 1 << 29
	for _, c := range []struct {
		op   engine.Op
		in   []engine.Spec
		as   any
		says string
	}{
		{matMul, []engine.Spec{f64(2, 3), f64(4, 5)}, new(*engine.ShapeError), "extent 4 of the contracted axis differs from 3 of axis 1 of input 0"},
		{matMul, []engine.Spec{f64(2, 3), f64(1, 5)}, new(*engine.ShapeError), "not stretched"},
		{engine.DotGeneral{BatchL: axes(0), BatchR: axes(0)}, []engine.Spec{f64(1, 3), f64(2, 5)}, new(*engine.ShapeError), "not stretched"},
		{engine.DotGeneral{ContractL: axes(2), ContractR: axes(0)}, []engine.Spec{f64(2, 3), f64(3, 5)}, new(*engine.ShapeError), "axis 2"},
		{engine.DotGeneral{ContractL: axes(1, 1), ContractR: axes(0, 1)}, []engine.Spec{f64(2, 3), f64(3, 3)}, new(*engine.ShapeError), "axis 1"},
		{engine.DotGeneral{ContractL: axes(1)}, []engine.Spec{f64(2, 3), f64(3, 2)}, new(*engine.ShapeError), "1 contracted axes on the left"},
		{engine.DotGeneral{}, []engine.Spec{f64(1 << 31), f64(1 << 31)}, new(*engine.ShapeError), "more bytes than an int can count"},
		{engine.DotGeneral{}, []engine.Spec{f64(many...), f64(many...)}, new(*engine.ShapeError), "above the limit of 64"},
		{matMul, []engine.Spec{f64(2, 3), r.spec(engine.Float32, 3, 2)}, new(*engine.DTypeError), "float32"},
		{matMul, []engine.Spec{r.spec(engine.Bool, 2, 3), r.spec(engine.Bool, 3, 2)}, new(*engine.DTypeError), "bool"},
		{engine.DotGeneral{Alpha: engine.By(1i)}, []engine.Spec{f64(2), f64(2)}, new(*engine.DTypeError), ""},
		{engine.DotGeneral{Beta: engine.By(0.5)}, []engine.Spec{r.spec(engine.Int64, 2), r.spec(engine.Int64, 2)}, new(*engine.DTypeError), ""},
		{engine.ApplyMatrix{Axis: 1}, []engine.Spec{f64(2, 3), f64(4, 2)}, new(*engine.ShapeError), "extent 2 differs from 3 of axis 1"},
		{engine.ApplyMatrix{Axis: 1}, []engine.Spec{f64(2, 3), f64(4, 1)}, new(*engine.ShapeError), "not stretched"},
		{engine.ApplyMatrix{Axis: 2}, []engine.Spec{f64(2, 3), f64(4, 3)}, new(*engine.ShapeError), "axis 2"},
		{engine.ApplyMatrix{Axis: 0}, []engine.Spec{f64(huge, huge), f64(huge, huge)}, nil, ""}, // it would fit, if there were the memory
		{engine.ApplyMatrix{Axis: 0}, []engine.Spec{f64(1, 1<<31), f64(1<<30, 1)}, new(*engine.ShapeError), "more bytes than an int can count"},
		{engine.FuseAxes{Order: axes(0, 1), Counts: engine.ListOf(1)}, []engine.Spec{f64(2, 3)}, new(*engine.ShapeError), "share out 1 of 2 axes"},
		{engine.SplitAxes{Shape: engine.ShapeOf(1<<40, 1<<40), Order: axes(0, 1), Counts: engine.ListOf(2)}, []engine.Spec{f64(6)}, new(*engine.ShapeError), "more bytes than an int can count"},
		{engine.SplitAxes{Shape: engine.ShapeOf(2, 2), Order: axes(0, 1), Counts: engine.ListOf(2)}, []engine.Spec{f64(6)}, new(*engine.ShapeError), "extent 6"},
		{engine.GroupedDot{Elements: 4, Jobs: engine.JobsOf(engine.Job{M: 1, N: 1, K: 1}, engine.Job{M: 2, N: 2, K: 1, C: square(1)})},
			[]engine.Spec{f64(4), f64(4)}, new(*engine.JobError), "job 1, block of output 0: the 2×2 matrix"},
		{engine.GroupedDot{Elements: 4, Jobs: engine.JobsOf(engine.Job{M: 1 << 40, N: 1 << 40, C: engine.Block{Row: 1 << 40, Col: 1}})},
			[]engine.Spec{f64(4), f64(4)}, new(*engine.JobError), "leaves the buffer of 4 elements"},
		// Extents whose product an int cannot count, of tensors that it can.
		{engine.DotGeneral{ContractL: axes(1), ContractR: axes(0)}, []engine.Spec{f64(huge, 1<<8), f64(1<<8, huge)}, nil, ""},
		{engine.DotGeneral{ContractL: axes(1), ContractR: axes(0)}, []engine.Spec{f64(1, 1<<59), f64(1<<59, 1)}, nil, ""},
	} {
		_, err := r.e.Bind(c.op, c.in, nil)
		if c.as == nil {
			r.ok(err)
			continue
		}
		if !errors.As(err, c.as) || !strings.Contains(err.Error(), c.op.Name()) || !strings.Contains(err.Error(), c.says) {
			r.Fatalf("%+v of %v: error %v (%T), want a %T that says %q", c.op, c.in, err, err, c.as, c.says)
		}
	}
}

// testContractionSpecials: NaN and infinities reach what depends on them, of
// grouped products and products with one axis; what Beta 0 overwrites is not read.
func testContractionSpecials(r *rig) {
	nan := func([]int) complex128 { return cmplx.NaN() }
	for _, d := range floats {
		a := r.input(compact, d, []int{3, 5}, func(i []int) complex128 {
			switch {
			case i[0] == 1 && i[1] == 4:
				return complex(math.NaN(), 0)
			case i[0] == 2 && i[1] == 0:
				return complex(math.Inf(1), 0)
			}
			return 1
		})
		m := r.input(compact, d, []int{2, 5}, func([]int) complex128 { return 2 })
		out := r.input(compact, d, []int{3, 2}, nan)
		r.ok(engine.ApplyInto(r.e, engine.ApplyMatrix{Axis: 1}, out, a, m))
		r.rows("ApplyMatrix", d, r.read(out))

		left := r.must(a.Reshape(15))
		right := r.input(compact, d, []int{5}, func([]int) complex128 { return 2 })
		var jobs []engine.Job
		for i := range 3 {
			jobs = append(jobs, engine.Job{M: 1, N: 1, K: 5, A: engine.Block{Offset: 5 * i, Col: 1}, B: engine.Block{Row: 1}, C: engine.Block{Offset: 2 * i}},
				engine.Job{M: 1, N: 1, K: 5, A: engine.Block{Offset: 5 * i, Col: 1}, B: engine.Block{Row: 1}, C: engine.Block{Offset: 2*i + 1}})
		}
		flat := r.input(compact, d, []int{6}, nan)
		r.ok(engine.ApplyInto(r.e, engine.GroupedDot{Jobs: engine.JobsOf(jobs...), Elements: 6}, flat, left, right))
		r.rows("GroupedDot", d, r.read(flat))
		r.ok(left.EndView())
	}
}

// rows wants a row of tens, one of NaN, and one of infinities.
func (r *rig) rows(what string, d engine.DType, got []complex128) {
	r.Helper()
	for i, z := range got {
		ok := false
		switch i / 2 {
		case 0:
			ok = z == 10
		case 1:
			ok = cmplx.IsNaN(z) || math.IsNaN(real(z))
		default: // ∞·(2+0i) may turn into NaN, but never into a number
			ok = math.IsInf(real(z), 1) || d.IsComplex() && math.IsNaN(real(z))
		}
		if !ok {
			r.Fatalf("%s of %v: element %d is %v", what, d, i, z)
		}
	}
}
