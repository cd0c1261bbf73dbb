package enginetest

import (
	"errors"
	"math"
	"testing"

	"github.com/hataori/hataori-go/engine"
)

// wantAs checks that err is a T.
func wantAs[T error](r *rig, what string, err error) T {
	r.Helper()
	var target T
	if !errors.As(err, &target) {
		r.Fatalf("%s: error %v (%T), want a %T", what, err, err, target)
	}
	return target
}

func (r *rig) wantIs(what string, err, target error) {
	r.Helper()
	if !errors.Is(err, target) {
		r.Fatalf("%s: error %v, want %v", what, err, target)
	}
}

// spec is a spec in the engine's domain.
func (r *rig) spec(d engine.DType, extents ...int) engine.Spec {
	return engine.Spec{DType: d, Domain: r.e.Target().Domain, Shape: engine.ShapeOf(extents...)}
}

func testBadSpecs(r *rig) {
	f64 := func(extents ...int) engine.Spec { return r.spec(engine.Float64, extents...) }
	shape := []struct {
		what string
		op   engine.Op
		in   []engine.Spec
		axis int
	}{
		{"too few inputs", engine.Add{}, []engine.Spec{f64(2)}, engine.NoAxis},
		{"too many inputs", engine.Copy{}, []engine.Spec{f64(2), f64(2)}, engine.NoAxis},
		{"extents differ", engine.Add{}, []engine.Spec{f64(2, 3), f64(2, 4)}, 1},
		{"broadcast", engine.Mul{}, []engine.Spec{f64(2, 3), f64(3)}, engine.NoAxis},
		{"size-one broadcast", engine.Mul{}, []engine.Spec{f64(2, 3), f64(2, 1)}, 1},
		{"negative extent", engine.Copy{}, []engine.Spec{f64(2, -3)}, 1},
		{"overflow of the element count", engine.Copy{}, []engine.Spec{f64(1<<31, 1<<31, 4)}, 1},
		{"strides of another rank", engine.Copy{}, []engine.Spec{{DType: engine.Float64, Domain: r.e.Target().Domain,
			Shape: engine.ShapeOf(2, 3), Strides: engine.StridesOf(1)}}, engine.NoAxis},
		{"stride overflow", engine.Copy{}, []engine.Spec{{DType: engine.Float64, Domain: r.e.Target().Domain,
			Shape: engine.ShapeOf(2, 3), Strides: engine.StridesOf(1, math.MinInt)}}, 1},
		{"short permutation", engine.Permute{Axes: engine.AxesOf(0)}, []engine.Spec{f64(2, 3)}, engine.NoAxis},
		{"axis twice", engine.Permute{Axes: engine.AxesOf(1, 1)}, []engine.Spec{f64(2, 3)}, 1},
		{"axis out of range", engine.Permute{Axes: engine.AxesOf(0, 2)}, []engine.Spec{f64(2, 3)}, 2},
		{"negative axis", engine.ReduceSum{Axes: engine.AxesOf(-1)}, []engine.Spec{f64(2, 3)}, -1},
		{"sum axis twice", engine.ReduceSum{Axes: engine.AxesOf(0, 0)}, []engine.Spec{f64(2, 3)}, 0},
		{"reshape to another count", engine.Reshape{Shape: engine.ShapeOf(7)}, []engine.Spec{f64(2, 3)}, engine.NoAxis},
		{"diagonal of unequal axes", engine.Diagonal{A: 0, B: 1}, []engine.Spec{f64(2, 3)}, 1},
		{"diagonal of one axis", engine.Diagonal{A: 1, B: 1}, []engine.Spec{f64(2, 2)}, 1},
		{"no factor", engine.Scale{}, []engine.Spec{f64(2)}, engine.NoAxis},
		{"contracted extents differ", matMul, []engine.Spec{f64(2, 3), f64(4, 5)}, 0},
		{"lists of unequal length", engine.DotGeneral{ContractL: engine.AxesOf(1)}, []engine.Spec{f64(2, 3), f64(3, 2)}, engine.NoAxis},
		{"batch and contracted", engine.DotGeneral{BatchL: engine.AxesOf(0), BatchR: engine.AxesOf(0), ContractL: engine.AxesOf(0),
			ContractR: engine.AxesOf(0)}, []engine.Spec{f64(3, 3), f64(3, 3)}, 0},
		{"output overflows", engine.DotGeneral{}, []engine.Spec{f64(1 << 31), f64(1 << 31)}, 1},
	}
	for _, c := range shape {
		_, err := r.e.Bind(c.op, c.in, nil)
		if e := wantAs[*engine.ShapeError](r, c.what, err); e.Axis != c.axis || e.Op != c.op.Name() || e.Reason == "" {
			r.Fatalf("%s: %+v, want axis %d of %s", c.what, e, c.axis, c.op.Name())
		}
		if err := r.e.Supports(c.op, c.in); err == nil {
			r.Fatalf("%s: Supports says yes", c.what)
		}
	}
	types := []struct {
		what string
		op   engine.Op
		in   []engine.Spec
	}{
		{"mixed types", engine.Add{}, []engine.Spec{f64(2), r.spec(engine.Float32, 2)}},
		{"bool sum", engine.Add{}, []engine.Spec{r.spec(engine.Bool, 2), r.spec(engine.Bool, 2)}},
		{"no type", engine.Copy{}, []engine.Spec{r.spec(engine.NoDType, 2)}},
		{"unknown type", engine.Copy{}, []engine.Spec{r.spec(engine.DType(200), 2)}},
		{"complex factor of a real", engine.Scale{By: engine.By(1i)}, []engine.Spec{f64(2)}},
		{"fraction of an integer", engine.Scale{By: engine.By(0.5)}, []engine.Spec{r.spec(engine.Int32, 2)}},
		{"mixed product", matMul, []engine.Spec{f64(2, 3), r.spec(engine.Complex128, 3, 2)}},
	}
	for _, c := range types {
		_, err := r.e.Bind(c.op, c.in, nil)
		wantAs[*engine.DTypeError](r, c.what, err)
	}
	elsewhere := r.spec(engine.Float64, 2)
	elsewhere.Domain = engine.Domain{Kind: engine.Simulated, Device: 7, ID: 99}
	_, err := r.e.Bind(engine.Copy{}, []engine.Spec{elsewhere}, nil)
	wantAs[*engine.DomainError](r, "foreign domain", err)
	_, err = r.e.Bind(engine.Add{}, []engine.Spec{f64(2), elsewhere}, nil)
	wantAs[*engine.DomainError](r, "mixed domains", err)
	_, err = r.e.Bind(engine.Copy{}, []engine.Spec{f64(2)}, []engine.Spec{elsewhere})
	wantAs[*engine.DomainError](r, "output in another domain", err)
	_, err = r.e.Bind(engine.Copy{}, []engine.Spec{f64(2)}, []engine.Spec{f64(3)})
	wantAs[*engine.ShapeError](r, "output of another shape", err)
	_, err = r.e.Bind(engine.Copy{}, []engine.Spec{f64(2)}, []engine.Spec{r.spec(engine.Float32, 2)})
	wantAs[*engine.DTypeError](r, "output of another type", err)
	_, err = r.e.Bind(engine.Copy{}, []engine.Spec{f64(2)}, []engine.Spec{f64(2), f64(2)})
	wantAs[*engine.ShapeError](r, "two outputs", err)
	_, err = r.e.Alloc(elsewhere)
	wantAs[*engine.DomainError](r, "Alloc elsewhere", err)
	_, err = r.e.Alloc(f64(-1))
	wantAs[*engine.ShapeError](r, "Alloc of a negative extent", err)
}

func testBadArguments(r *rig) {
	a, b := r.input(compact, engine.Float64, []int{2, 3}, small(engine.Float64, 1)), r.input(compact, engine.Float64, []int{2, 3}, small(engine.Float64, 2))
	out := r.input(compact, engine.Float64, []int{2, 3}, func([]int) complex128 { return poison })
	k, err := r.e.Bind(engine.Add{}, []engine.Spec{a.Spec(), b.Spec()}, nil)
	r.ok(err)
	wrongType := r.input(compact, engine.Float32, []int{2, 3}, small(engine.Float32, 1))
	wrongShape := r.input(compact, engine.Float64, []int{3, 2}, small(engine.Float64, 1))
	wrongLayout := r.must(wrongShape.Permute(1, 0))
	ended := r.must(a.Reshape(2, 3))
	r.ok(ended.EndView())
	for _, c := range []struct {
		what    string
		out, in []*engine.Tensor
		where   engine.Operand
	}{
		{"too few", []*engine.Tensor{out}, []*engine.Tensor{a}, engine.NoOperand},
		{"no output", nil, []*engine.Tensor{a, b}, engine.NoOperand},
		{"nil input", []*engine.Tensor{out}, []*engine.Tensor{a, nil}, engine.Input(1)},
		{"nil output", []*engine.Tensor{nil}, []*engine.Tensor{a, b}, engine.Output(0)},
		{"type", []*engine.Tensor{out}, []*engine.Tensor{a, wrongType}, engine.Input(1)},
		{"shape", []*engine.Tensor{out}, []*engine.Tensor{wrongShape, b}, engine.Input(0)},
		{"layout", []*engine.Tensor{out}, []*engine.Tensor{a, wrongLayout}, engine.Input(1)},
		{"output shape", []*engine.Tensor{wrongShape}, []*engine.Tensor{a, b}, engine.Output(0)},
		{"released input", []*engine.Tensor{out}, []*engine.Tensor{ended, b}, engine.Input(0)},
	} {
		e := wantAs[*engine.ArgError](r, c.what, r.e.Run(k, c.out, c.in))
		if e.Operand != c.where || e.Op != "Add" {
			r.Fatalf("%s: %v names %v, want %v", c.what, e, e.Operand, c.where)
		}
	}
	r.wantIs("released input", r.e.Run(k, []*engine.Tensor{out}, []*engine.Tensor{ended, b}), engine.ErrReleased)
	r.wantIs("foreign kernel", r.e.Run(foreign{}, []*engine.Tensor{out}, []*engine.Tensor{a, b}), engine.ErrForeignKernel)
	r.wantIs("no kernel", r.e.Run(nil, []*engine.Tensor{out}, []*engine.Tensor{a, b}), engine.ErrForeignKernel)
	for _, z := range r.read(out) {
		if z != poison {
			r.Fatal("a refused run changed its output")
		}
	}
	wantAs[*engine.ArgError](r, "AddInto without an input", engine.AddInto(r.e, out, a, nil))
	wantAs[*engine.ArgError](r, "AddInto without an output", engine.AddInto(r.e, nil, a, b))
	_, err = engine.MatMul(r.e, a, nil)
	wantAs[*engine.ArgError](r, "MatMul without an input", err)
	_, err = engine.MatMul(r.e, a, b)
	wantAs[*engine.ShapeError](r, "MatMul 2×3 · 2×3", err)
}

type foreign struct{ engine.Kernel }

func testOverlap(r *rig) {
	const d = engine.Float64
	base := r.input(compact, d, []int{6, 6}, small(d, 3))
	view := func(t *engine.Tensor, err error) *engine.Tensor { return r.must(t, err) }
	top, shifted := view(base.Slice(0, 0, 4, 1)), view(base.Slice(0, 1, 4, 1))
	even, odd := view(base.Slice(1, 0, 3, 2)), view(base.Slice(1, 1, 3, 2))
	left, right := view(base.Slice(1, 0, 3, 1)), view(base.Slice(1, 3, 3, 1))
	flipped := view(base.Slice(0, 5, 6, -1))
	turned := view(base.Permute(1, 0))
	bad := []struct {
		what    string
		op      engine.Op
		out, in *engine.Tensor
	}{
		{"shifted", engine.Copy{}, top, shifted},
		{"backwards", engine.Copy{}, base, flipped},
		{"transposed", engine.Copy{}, base, turned},
		{"in place where not allowed", engine.Permute{Axes: engine.AxesOf(0, 1)}, base, base},
		{"interleaved with a block", engine.Copy{}, even, left},
	}
	before := r.read(base)
	for _, c := range bad {
		e := wantAs[*engine.AliasError](r, c.what, engine.ApplyInto(r.e, c.op, c.out, c.in, nil))
		if e.Output != engine.Output(0) || e.Other != engine.Input(0) {
			r.Fatalf("%s: %v", c.what, e)
		}
	}
	square := r.input(compact, d, []int{6, 6}, small(d, 5))
	wantAs[*engine.AliasError](r, "product over its right operand", engine.DotInto(r.e, matMul, base, square, base))
	r.same("after refusals", r.read(base), before)
	// Interleaved but disjoint elements do not overlap.
	r.ok(engine.CopyInto(r.e, even, odd))
	r.same("even columns", r.read(even), r.read(odd))
	r.ok(engine.CopyInto(r.e, left, right))
	r.same("left block", r.read(left), r.read(right))
	// An output whose elements coincide.
	selfish := r.spec(d, 3, 3)
	selfish.Strides = engine.StridesOf(1, 1)
	_, err := r.e.Bind(engine.Copy{}, []engine.Spec{r.spec(d, 3, 3)}, []engine.Spec{selfish})
	if e := wantAs[*engine.AliasError](r, "self-overlap", err); e.Output != e.Other {
		r.Fatal(e)
	}
}

// strange is an operation that no engine knows.
type strange struct{}

func (strange) Name() string                                  { return "Strange" }
func (strange) MayAlias(out, in int) bool                     { return false }
func (strange) Infer(in []engine.Spec) ([]engine.Spec, error) { return in[:1], nil }

// sliced is an operation that is not comparable.
type sliced struct{ axes []int }

func (sliced) Name() string                                  { return "Sliced" }
func (sliced) MayAlias(out, in int) bool                     { return false }
func (sliced) Infer(in []engine.Spec) ([]engine.Spec, error) { return in[:1], nil }

func testUnsupported(r *rig) {
	in := []engine.Spec{r.spec(engine.Float64, 2)}
	for _, op := range []engine.Op{strange{}, sliced{axes: []int{1}}, nil} {
		_, err := r.e.Bind(op, in, nil)
		r.wantIs("unknown operation", err, engine.ErrUnsupported)
		if e := wantAs[*engine.UnsupportedError](r, "unknown operation", err); e.Provider == "" {
			r.Fatalf("%v does not name the engine", e)
		}
		r.wantIs("Supports", r.e.Supports(op, in), engine.ErrUnsupported)
	}
	if err := r.e.Supports(engine.Copy{}, in); err != nil {
		r.Fatal(err)
	}
}

func testBuffers(r *rig) {
	t := r.must(r.e.Alloc(r.spec(engine.Float64, 4, 4)))
	v := r.must(t.Slice(0, 0, 2, 1))
	w := r.must(v.Permute(1, 0))
	r.wantIs("release with two views", r.e.Release(t), engine.ErrViewsLive)
	r.ok(r.e.Release(v))
	r.wantIs("release a view twice", r.e.Release(v), engine.ErrReleased)
	r.wantIs("release with a view of a view", r.e.Release(t), engine.ErrViewsLive)
	r.ok(w.EndView())
	r.ok(r.e.Release(t))
	r.wantIs("release twice", r.e.Release(t), engine.ErrReleased)
	_, err := t.Permute(1, 0)
	r.wantIs("view after release", err, engine.ErrReleased)
	wantAs[*engine.ArgError](r, "use after release", engine.CopyInto(r.e, t, t))
	caller := host(engine.Float64, []int{2}, small(engine.Float64, 1))
	r.wantIs("release of the caller's memory", r.e.Release(caller), engine.ErrNotOwned)
	if caller.Live() != nil {
		r.Fatal("a refused release ended the tensor")
	}
	r.wantIs("EndView of no view", caller.EndView(), engine.ErrNotOwned)
	empty := r.must(r.e.Alloc(r.spec(engine.Float64, 0, 4)))
	r.ok(r.e.Release(empty))
}

// testAdmission: an open pass keeps others out, at once.
func testAdmission(r *rig) {
	a := r.input(compact, engine.Float64, []int{3}, small(engine.Float64, 1))
	k, err := r.e.Bind(engine.Conj{}, []engine.Spec{a.Spec()}, nil)
	r.ok(err)
	out := r.must(r.e.Alloc(k.Out(0)))
	p, err := r.e.Begin()
	r.ok(err)
	r.wantIs("Run beside a pass", r.e.Run(k, []*engine.Tensor{out}, []*engine.Tensor{a}), engine.ErrBusy)
	_, err = r.e.Begin()
	r.wantIs("second pass", err, engine.ErrBusy)
	r.wantIs("Close beside a pass", r.e.Close(), engine.ErrBusy)
	r.ok(p.Run(k, []*engine.Tensor{out}, []*engine.Tensor{a}))
	r.ok(p.Run(k, []*engine.Tensor{out}, []*engine.Tensor{out}))
	p.End()
	r.same("conj of a real", r.read(out), r.read(a))
	r.wantIs("Run of a pass that has ended", p.Run(k, []*engine.Tensor{out}, []*engine.Tensor{a}), engine.ErrPassEnded)
	r.ok(r.e.Run(k, []*engine.Tensor{out}, []*engine.Tensor{a}))
	testEndedPass(r, p, k, out, a)
	r.ok(r.e.WarmUp())
	r.ok(r.e.Synchronize())
	if target := r.e.Target(); target != k.Target() || target.Width < 1 || target.Kind == "" {
		r.Fatalf("target %+v, of the kernel %+v", target, k.Target())
	}
}

// testEndedPass: a pass that has ended, old, neither runs nor ends anything while
// later ones are open.
func testEndedPass(r *rig, old engine.Pass, k engine.Kernel, out, a *engine.Tensor) {
	for range 3 {
		p, err := r.e.Begin()
		r.ok(err)
		r.wantIs("Run of a pass that has ended beside another", old.Run(k, []*engine.Tensor{out}, []*engine.Tensor{a}), engine.ErrPassEnded)
		old.End()
		_, err = r.e.Begin()
		r.wantIs("Begin after the second End of another pass", err, engine.ErrBusy)
		r.ok(p.Run(k, []*engine.Tensor{out}, []*engine.Tensor{a}))
		p.End()
		old = p
	}
}

func testClose(r *rig) {
	a := r.input(compact, engine.Float64, []int{3}, small(engine.Float64, 1))
	b := r.must(r.e.Alloc(r.spec(engine.Float64, 3)))
	k, err := r.e.Bind(engine.Copy{}, []engine.Spec{a.Spec()}, nil)
	r.ok(err)
	r.ok(r.e.Close())
	r.ok(r.e.Close())
	r.wantIs("Run", r.e.Run(k, []*engine.Tensor{b}, []*engine.Tensor{a}), engine.ErrClosed)
	_, err = r.e.Begin()
	r.wantIs("Begin", err, engine.ErrClosed)
	r.wantIs("AddInto", engine.AddInto(r.e, b, a, a), engine.ErrClosed)
	_, err = engine.Clone(r.e, a)
	r.wantIs("Clone", err, engine.ErrClosed)
	_, err = r.e.Alloc(b.Spec())
	r.wantIs("Alloc", err, engine.ErrClosed)
	r.wantIs("Err", r.e.Err(), engine.ErrClosed)
	r.ok(r.e.Release(b))
}

func testExtension(r *rig) {
	type key struct{ n int }
	c := r.e.Extension("enginetest")
	if c != r.e.Extension("enginetest") || c == r.e.Extension("other") {
		r.Fatal("one cache per family")
	}
	c.Store(key{1}, "one")
	if v, ok := c.Load(key{1}); !ok || v != "one" {
		r.Fatalf("Load = %v, %v", v, ok)
	}
	for i := range 100000 {
		c.Store(key{i + 2}, i)
	}
	if s := c.Stats(); s.Entries > 10000 || s.Evictions == 0 {
		r.Fatalf("the cache is not bounded: %+v", s)
	}
	r.ok(r.e.Close())
	if s := c.Stats(); s.Entries != 0 {
		r.Fatalf("Close left %d entries", s.Entries)
	}
}

// testWarm: warm runs and convenience forms allocate nothing.
func testWarm(r *rig) {
	const d = engine.Complex128
	a, b := r.input(compact, d, []int{8, 8}, small(d, 1)), r.input(mixed, d, []int{8, 8}, small(d, 2))
	out := r.must(r.e.Alloc(r.spec(d, 8, 8)))
	row := r.must(r.e.Alloc(r.spec(d, 8)))
	type call struct {
		name string
		f    func() error
	}
	calls := []call{
		{"AddInto", func() error { return engine.AddInto(r.e, out, a, b) }},
		{"MulInto", func() error { return engine.MulInto(r.e, out, a, b) }},
		{"ScaleInto", func() error { return engine.ScaleInto(r.e, out, b, 2i) }},
		{"ConjInto", func() error { return engine.ConjInto(r.e, out, b) }},
		{"CopyInto", func() error { return engine.CopyInto(r.e, out, b) }},
		{"MatMulInto", func() error { return engine.MatMulInto(r.e, out, a, b) }},
		{"DotInto", func() error { return engine.DotInto(r.e, matMul, out, b, a) }},
	}
	real1, real2, real3 := r.must(r.e.Alloc(r.spec(engine.Float64, 8, 8))), r.must(r.e.Alloc(r.spec(engine.Float64, 8, 8))), r.must(r.e.Alloc(r.spec(engine.Float64, 8, 8)))
	for i, t := range []*engine.Tensor{real1, real2, real3} {
		r.write(t, small(engine.Float64, 5+i))
	}
	var clamp, top, gather, scatter engine.Op = engine.Clamp, engine.TopK{Axis: 1, K: 3}, engine.Gather{}, engine.Scatter{Add: true}
	most, where := r.must(r.e.Alloc(r.spec(engine.Float64, 8, 3))), r.must(r.e.Alloc(r.spec(engine.Int64, 8, 3)))
	index := r.must(r.e.Alloc(r.spec(engine.Int64, 8)))
	r.write(index, func(i []int) complex128 { return complex(float64((i[0]*3)%8), 0) })
	one, two := []*engine.Tensor{real3}, []*engine.Tensor{most, where}
	calls = append(calls,
		call{"EvalInto Clamp", func() error { return engine.EvalInto(r.e, clamp, one, real1, real2, real2) }},
		call{"EvalInto TopK", func() error { return engine.EvalInto(r.e, top, two, real1) }},
		call{"EvalInto Gather", func() error { return engine.EvalInto(r.e, gather, one, real1, index) }},
		call{"EvalInto Scatter", func() error { return engine.EvalInto(r.e, scatter, one, real1, index, real2) }})
	apply, vector := engine.Op(engine.ApplyMatrix{Axis: 1}), r.must(r.e.Alloc(r.spec(d, 64)))
	var grouped engine.Op = engine.GroupedDot{Elements: 8, Jobs: engine.JobsOf(engine.Job{M: 2, N: 2, K: 2, A: square(0), B: square(9), C: square(0)},
		engine.Job{M: 2, N: 2, K: 16, A: engine.Block{Row: 16, Col: 1}, B: square(4), C: square(4)})}
	r.write(vector, small(d, 8))
	calls = append(calls,
		call{"ApplyInto ApplyMatrix", func() error { return engine.ApplyInto(r.e, apply, out, b, a) }},
		call{"ApplyInto GroupedDot", func() error { return engine.ApplyInto(r.e, grouped, row, vector, vector) }})
	calls = append(calls, call{"ApplyInto Exp", func() error { return engine.ApplyInto(r.e, engine.Exp, out, b, nil) }})
	for _, op := range []engine.Op{engine.Sub, engine.Tanh, engine.Reduce{F: engine.ReduceProd, Axes: engine.AxesOf(0)},
		engine.Reduce{F: engine.ReduceMean, Axes: engine.AxesOf(1)}, engine.CumSum{Axis: 1}, engine.Roll{Axis: 0, Shift: 3}, engine.Tril{},
		engine.Add{}, engine.Permute{Axes: engine.AxesOf(1, 0)}, engine.ReduceSum{Axes: engine.AxesOf(0)},
		engine.ReduceSum{Axes: engine.AxesOf(1)}, matMul, engine.DotGeneral{BatchL: engine.AxesOf(1), BatchR: engine.AxesOf(0),
			ContractL: engine.AxesOf(0), ContractR: engine.AxesOf(1)}} {
		in := []*engine.Tensor{b, a}
		specs := []engine.Spec{b.Spec(), a.Spec()}
		if _, err := op.Infer(specs); err != nil {
			in, specs = in[:1], specs[:1]
		}
		k, err := r.e.Bind(op, specs, nil)
		r.ok(err)
		dst := []*engine.Tensor{out}
		if k.Out(0).Rank() == 1 {
			dst = []*engine.Tensor{row}
		}
		calls = append(calls, call{"Run " + op.Name(), func() error { return r.e.Run(k, dst, in) }})
	}
	for _, c := range calls {
		r.ok(c.f())
		if n := testing.AllocsPerRun(20, func() {
			if err := c.f(); err != nil {
				panic(err)
			}
		}); n != 0 {
			r.Errorf("%s allocates %v times when warm", c.name, n)
		}
	}
}
