package enginetest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hataori/hataori-go/engine"
)

// What a caller may hand in by mistake: any parameters with any specs.

// hostile draws operations and specs, most of which do not fit.
type hostile struct {
	rnd       *rand.Rand
	kind      int            // of operation, the next
	functions [4][]engine.Op // by number of inputs
}

// from draws one of some numbers, the first half of the time.
func (h *hostile) from(usual []int, odd ...int) int {
	if h.rnd.IntN(8) > 0 {
		return usual[h.rnd.IntN(len(usual))]
	}
	return odd[h.rnd.IntN(len(odd))]
}

func (h *hostile) axis(rank int) int {
	return h.from(risingAxes(max(rank, 1)), -1, rank, 63, 64, 65, math.MaxInt, math.MinInt)
}

func (h *hostile) extent() int {
	return h.from([]int{0, 1, 1, 2, 3, 5}, 1<<20, 1<<31, 1<<40, 1<<62, math.MaxInt, -1, math.MinInt)
}

func (h *hostile) number() int {
	return h.from([]int{0, 1, 2, 3, -1, -2}, 7, 1<<31, 1<<62, math.MaxInt, math.MinInt, math.MinInt+1)
}

func (h *hostile) axes(rank int) engine.Axes {
	v := h.rnd.Perm(rank)[:h.rnd.IntN(rank+1)]
	if h.rnd.IntN(6) == 0 {
		v = append(v, h.axis(rank))
	}
	return engine.AxesOf(v...)
}

// list has an entry for each axis, as a rule.
func (h *hostile) list(rank int, draw func() int) engine.List {
	v := make([]int, h.from([]int{rank}, 0, rank+1, 65))
	for i := range v {
		v[i] = draw()
	}
	return engine.ListOf(v...)
}

func (h *hostile) shape() []int {
	ext := make([]int, h.from([]int{0, 1, 2, 3, 4}, 26, 64, 65))
	for i := range ext {
		if ext[i] = h.extent(); len(ext) > 4 {
			ext[i] = h.from([]int{1}, 0, 2)
		}
	}
	return ext
}

// finite is a factor that every floating type holds.
func (h *hostile) finite() engine.Factor {
	return []engine.Factor{{}, engine.By(0), engine.By(1), engine.By(-2), engine.By(0.5), engine.By(1i)}[h.rnd.IntN(6)]
}

func (h *hostile) factor() engine.Factor {
	if h.rnd.IntN(3) > 0 {
		return h.finite()
	}
	return engine.By([]complex128{complex(math.NaN(), 0), complex(math.Inf(1), 0), 1e300, 1 << 62}[h.rnd.IntN(4)])
}

// op draws an operation for a first input of a shape, and how many inputs it has.
func (h *hostile) op(d engine.DType, ext []int) (op engine.Op, inputs int) {
	rank := len(ext)
	h.kind++
	switch h.kind % 40 {
	case 0, 1, 2:
		n := 1 + h.kind%40
		for range 8 { // as a rule one that takes the dtype
			op = h.functions[n][h.rnd.IntN(len(h.functions[n]))]
			if slices.Contains(typed(op, n), d) {
				break
			}
		}
		return op, n
	case 3:
		return engine.Add{}, 2
	case 4:
		return engine.Mul{}, 2
	case 5:
		return engine.Scale{By: h.factor()}, 1
	case 6:
		return engine.Conj{}, 1
	case 7:
		return engine.Copy{}, 1
	case 8:
		return engine.Cast{To: engine.DType(h.from([]int{1, 2, 3, 4, 5, 6, 7}, 0, 8, -1))}, 1
	case 9:
		return engine.Convert{To: engine.DType(h.from([]int{1, 2, 3, 4, 5, 6, 7}, 0, 8, -1))}, 1
	case 10:
		return engine.ReduceSum{Axes: h.axes(rank)}, 1
	case 11, 12:
		return engine.Reduce{F: engine.Reduction(h.rnd.IntN(len(reductions()) + 2)), Axes: h.axes(rank)}, 1
	case 13:
		return engine.CumSum{Axis: h.axis(rank)}, 1
	case 14:
		return engine.CumProd{Axis: h.axis(rank)}, 1
	case 15:
		return engine.Sort{Axis: h.axis(rank), Descending: h.rnd.IntN(2) == 0}, 1
	case 16:
		return engine.ArgSort{Axis: h.axis(rank), Descending: h.rnd.IntN(2) == 0}, 1
	case 17:
		return engine.TopK{Axis: h.axis(rank), K: h.number()}, 1
	case 18:
		return engine.Permute{Axes: engine.AxesOf(h.rnd.Perm(rank)...)}, 1
	case 19:
		return engine.Reshape{Shape: engine.ShapeOf(h.shape()...)}, 1
	case 20:
		return engine.Diagonal{A: h.axis(rank), B: h.axis(rank)}, 1
	}
	return h.mover(d, rank)
}

func (h *hostile) mover(d engine.DType, rank int) (op engine.Op, inputs int) {
	axis := func() int { return h.axis(rank) }
	switch h.kind % 40 {
	case 21:
		return engine.BroadcastInDim{Shape: engine.ShapeOf(h.shape()...), Axes: h.axes(rank)}, 1
	case 22:
		return engine.Slice{Start: h.list(rank, h.number), Count: h.list(rank, h.number), Step: h.list(rank, h.number)}, 1
	case 23:
		return engine.Pad{Low: h.list(rank, h.number), High: h.list(rank, h.number), Value: h.factor()}, 1
	case 24:
		return engine.Concat{Axis: axis()}, h.rnd.IntN(6)
	case 25:
		return engine.Stack{Axis: axis()}, h.rnd.IntN(6)
	case 26:
		return engine.Split{Axis: axis(), Sizes: h.list(2, h.number)}, 1
	case 27:
		return engine.Reverse{Axes: h.axes(rank)}, 1
	case 28:
		return engine.Roll{Axis: axis(), Shift: h.number()}, 1
	case 29:
		return engine.DiagonalIn{A: axis(), B: axis()}, 1
	case 30:
		return engine.Tril{K: h.number()}, 1
	case 31:
		return engine.Triu{K: h.number()}, 1
	case 32:
		return engine.FuseAxes{Order: engine.AxesOf(h.rnd.Perm(rank)...), Counts: h.list(2, h.number)}, 1
	case 33:
		s := h.shape()
		return engine.SplitAxes{Shape: engine.ShapeOf(s...), Order: engine.AxesOf(h.rnd.Perm(len(s))...), Counts: h.list(2, h.number)}, 1
	case 34:
		return engine.Gather{Axis: axis()}, 2
	case 35:
		return engine.TakeAlong{Axis: axis()}, 2
	case 36:
		return engine.Scatter{Axis: axis(), Add: h.rnd.IntN(2) == 0}, 3
	case 37:
		a := h.axes(rank)
		return engine.DotGeneral{BatchL: h.axes(min(rank, 1)), BatchR: h.axes(min(rank, 1)), ContractL: a, ContractR: a, ConjL: true, Alpha: h.finite(), Beta: engine.By(0)}, 2
	case 38:
		return engine.ApplyMatrix{Axis: axis(), Conj: true}, 2
	}
	return h.made(d)
}

func (h *hostile) made(d engine.DType) (op engine.Op, inputs int) {
	s := engine.SpecOf(d, h.shape()...)
	switch h.rnd.IntN(4) {
	case 0:
		return engine.Fill{Spec: s, Value: h.factor()}, 0
	case 1:
		return engine.Iota{Spec: s, Axis: h.axis(s.Rank())}, 0
	case 2:
		return engine.Random{Spec: s, Distribution: engine.Distribution(h.rnd.IntN(3)), First: math.MaxUint64 - 2}, 0
	}
	block := func() engine.Block {
		return engine.Block{Offset: h.from([]int{0, 0, 1}, -1, math.MaxInt), Row: h.number(), Col: h.number()}
	}
	job := func() engine.Job {
		return engine.Job{M: h.from([]int{1, 1, 2}, 0, -1, 1<<40), N: h.extent(), K: h.extent(), A: block(), B: block(), C: block()}
	}
	return engine.GroupedDot{Jobs: engine.JobsOf(job()), Elements: 5 * h.extent(), Beta: engine.By(0)}, 2
}

// specs draws the inputs: of one shape as a rule, and what the operation asks for
// beside it.
func (h *hostile) specs(op engine.Op, n int, d engine.DType, ext []int) []engine.Spec {
	in := make([]engine.Spec, n)
	for i := range in {
		in[i] = engine.SpecOf(d, ext...)
		switch h.rnd.IntN(12) {
		case 0:
			in[i].Shape = engine.ShapeOf(h.shape()...)
		case 1:
			in[i].DType = engine.DType(h.rnd.IntN(9))
		case 2:
			in[i].Strides = engine.StridesOf(func() (v []int) {
				for range h.from([]int{len(ext)}, 0, 1, 5) {
					v = append(v, h.number())
				}
				return v
			}()...)
		}
	}
	index := func() {
		if h.rnd.IntN(8) > 0 {
			in[1].DType = engine.Int64
		}
	}
	switch op := op.(type) {
	case engine.Ternary:
		if op == engine.Select && h.rnd.IntN(8) > 0 {
			in[0].DType = engine.Bool
		}
	case engine.Gather, engine.TakeAlong:
		index()
	case engine.Scatter:
		index()
		if g, err := (engine.Gather{Axis: op.Axis}).Infer(in[:2]); err == nil && h.rnd.IntN(8) > 0 {
			in[2] = g[0]
		}
	case engine.ApplyMatrix:
		if op.Axis >= 0 && op.Axis < len(ext) && h.rnd.IntN(8) > 0 {
			in[1].Shape, in[1].Strides = engine.ShapeOf(h.extent(), ext[op.Axis]), engine.Strides{}
		}
	}
	return in
}

// testHostile: whatever is asked for is either refused with a typed error, before
// anything is touched, or computed as the reference engine does.
func testHostile(r *rig) {
	cases, ran := 40000, map[string]int{}
	if testing.Short() {
		cases = 8000
	}
	h := hostile{rnd: r.rnd, functions: [4][]engine.Op{1: unaries(), 2: binaries(), 3: ternaries()}}
	for range cases {
		d := engine.DType(h.from([]int{1, 2, 3, 4, 5, 6, 7}, 0, 8))
		ext := h.shape()
		op, n := h.op(d, ext)
		in := r.here(h.specs(op, n, d, ext))
		op = r.placed(op)
		what := fmt.Sprintf("%s %+v of %v", op.Name(), op, in)
		out, err := op.Infer(in)
		k, bound := r.e.Bind(op, in, nil)
		if err != nil {
			r.typed(what, err)
			r.typed(what, bound)
			continue
		}
		for i, s := range out {
			if err := s.Validate(op.Name(), engine.Output(i)); err != nil {
				r.Fatalf("%s: inferred %v: %v", what, s, err)
			}
		}
		if bound != nil {
			r.typed(what, bound)
			continue
		}
		if small := r.hostileInputs(op, k); small {
			ran[op.Name()]++
		}
	}
	for _, s := range Vocabulary() {
		if name := s.Op(engine.Float64).Name(); ran[name] == 0 && !testing.Short() {
			r.Errorf("%s never ran: the test tests half", name)
		}
	}
}

// typed checks that an error is one of the package's.
func (r *rig) typed(what string, err error) {
	r.Helper()
	var (
		shape       *engine.ShapeError
		dtype       *engine.DTypeError
		alias       *engine.AliasError
		memory      *engine.MemoryError
		job         *engine.JobError
		unsupported *engine.UnsupportedError
	)
	if !errors.As(err, &shape) && !errors.As(err, &dtype) && !errors.As(err, &alias) && !errors.As(err, &memory) && !errors.As(err, &job) &&
		!errors.As(err, &unsupported) {
		r.Fatalf("%s: error %v (%T)", what, err, err)
	}
}

// hostileInputs runs a kernel on small tensors as expectNear does; false where they
// are large, or overlap themselves.
func (r *rig) hostileInputs(op engine.Op, k engine.Kernel) bool {
	r.Helper()
	const most = 2000
	ins := make([]*engine.Tensor, k.NumIn())
	specs := make([]engine.Spec, k.NumIn())
	for i := range ins {
		s := k.In(i)
		if !s.IsCompact() || s.Elements() > most {
			return false
		}
		f := small(s.DType, 3+i)
		if i == 1 && (op == engine.Div || op == engine.Rem || op == engine.Pow) {
			f = nonzero(f)
		}
		if u, ok := op.(engine.Unary); ok {
			f = varied(s.DType, int(u))
		}
		ins[i] = r.input(compact, s.DType, s.Shape.Ints(), f)
		specs[i] = engine.Spec{DType: s.DType, Shape: s.Shape}
	}
	for o := range k.NumOut() {
		if k.Out(o).Elements() > most {
			return false
		}
	}
	if _, ok := op.(engine.GroupedDot); ok {
		return true // what no job writes stays as it is
	}
	outs, err := engine.Eval(r.e, op, ins...)
	if err == nil {
		err = r.e.Synchronize()
	}
	hosts := make([]*engine.Tensor, len(ins))
	for i, t := range ins {
		hosts[i] = pack(t.DType(), r.read(t), t.Shape().Ints())
	}
	wants, wantErr := engine.Eval(r.oracle, placedIn(op, engine.Domain{}), hosts...)
	what := fmt.Sprintf("%s %+v of %v", op.Name(), op, specs)
	var a, b *engine.NumericalError
	if errors.As(err, &a) != errors.As(wantErr, &b) || a != nil && a.Error() != b.Error() || a == nil && (err != nil || wantErr != nil) {
		r.Fatalf("%s: error %v, want %v", what, err, wantErr)
	}
	o := &rig{T: r.T, e: r.oracle}
	for i := range outs {
		r.near(what, outs[i].DType(), hostileTolerance(op, outs[i].DType()), r.read(outs[i]), o.read(wants[i]))
		r.ok(r.e.Release(outs[i]))
	}
	return true
}

func hostileTolerance(op engine.Op, d engine.DType) allowance {
	switch op := op.(type) {
	case engine.Reduce:
		return allowance{reductionUlps(op.F), 1}
	case engine.Random:
		return allowance{ulps: Ulps}
	default:
		return tolerance(op, d)
	}
}
