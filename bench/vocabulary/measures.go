package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hataori/hataori-go/engine"
)

const million = 1_000_000

// measure makes the operands of the measure NAME on e and returns what binds
// its call on any engine.
func measure(name string, e engine.Execution) (on, error) {
	b := &maker{e: e}
	switch name {
	case "run":
		return b.run(engine.Add{}, b.numbers(2), b.numbers(2))
	case "into":
		x, y, out := b.numbers(2), b.numbers(2), b.numbers(2)
		return func(e engine.Execution) (func() error, error) {
			return func() error { return engine.AddInto(e, out, x, y) }, nil
		}, b.err
	case "product":
		return b.run(engine.DotGeneral{ContractL: engine.AxesOf(1), ContractR: engine.AxesOf(0)}, b.numbers(200, 200), b.numbers(200, 200))
	case "exp-4M":
		return b.run(engine.Exp, b.numbers(4*million))
	case "add-4M":
		return b.run(engine.Add{}, b.numbers(4*million), b.numbers(4*million))
	case "gather":
		return b.run(engine.Gather{}, b.numbers(million), b.positions())
	case "scatter-add":
		// Into the tensor itself, as numpy.add.at adds.
		x := b.numbers(million)
		return b.runInto(engine.Scatter{Add: true}, x, x, b.positions(), b.numbers(million))
	case "slice":
		return b.run(engine.Slice{Start: engine.ListOf(0, 0), Count: engine.ListOf(2000, 500), Step: engine.ListOf(1, 2)}, b.numbers(2000, 1000))
	case "concat":
		return b.run(engine.Concat{}, b.numbers(million/2), b.numbers(million/2))
	case "permute-64":
		return b.run(engine.Permute{Axes: engine.AxesOf(1, 0, 2)}, b.numbers(512, 256, 64))
	}
	if shape, ok := strings.CutPrefix(name, "permute-"); ok {
		var n, rank int
		if _, err := fmt.Sscanf(shape, "%dx%d", &n, &rank); err != nil {
			return nil, fmt.Errorf("no measure is called %s", name)
		}
		axes := make([]int, rank)
		for i := range axes {
			axes[i] = rank - 1 - i
		}
		return b.run(engine.Permute{Axes: engine.AxesOf(axes...)}, b.numbers(slices.Repeat([]int{n}, rank)...))
	}
	op, dtype, _ := strings.Cut(name, "-")
	input := b.numbers
	if dtype == "c128" {
		input = b.complexes
	}
	if op == "log" && dtype == "f64" {
		input = b.positives
	}
	all := engine.AxesOf(0)
	switch op {
	case "add":
		return b.run(engine.Add{}, input(million), input(million))
	case "mul":
		return b.run(engine.Mul{}, input(million), input(million))
	case "sum":
		return b.run(engine.ReduceSum{Axes: all}, input(million))
	case "max":
		return b.run(engine.Reduce{F: engine.ReduceMax, Axes: all}, input(million))
	}
	for _, u := range []engine.Unary{engine.Exp, engine.Log, engine.Tanh, engine.Sin, engine.Cos, engine.Tan, engine.Atan, engine.Sinh, engine.Cosh,
		engine.Expm1, engine.Log1p, engine.Sqrt, engine.Erf, engine.Neg, engine.Abs, engine.IsNaN, engine.IsFinite} {
		if strings.ToLower(u.Name()) == op {
			return b.run(u, input(million))
		}
	}
	for _, u := range []engine.Unary{engine.Asin, engine.Acos} {
		if strings.ToLower(u.Name()) == op {
			return b.run(u, b.random(engine.Float64, engine.Uniform, million))
		}
	}
	switch op {
	case "pow":
		return b.run(engine.Pow, b.positives(million), input(million))
	case "equal":
		return b.run(engine.Equal, input(million), input(million))
	case "less":
		return b.run(engine.Less, input(million), input(million))
	case "and":
		return b.run(engine.And, b.random(engine.Bool, engine.Uniform, million), b.random(engine.Bool, engine.Uniform, million))
	case "select":
		return b.run(engine.Select, b.random(engine.Bool, engine.Uniform, million), input(million), input(million))
	case "cast": // to the half of the size
		return b.run(engine.Cast{To: engine.Float32}, input(million))
	case "atan2":
		return b.run(engine.Atan2, input(million), input(million))
	case "logaddexp":
		return b.run(engine.LogAddExp, input(million), input(million))
	}
	return nil, fmt.Errorf("no measure is called %s", name)
}

// maker makes tensors and calls; its first error stays.
type maker struct {
	e   engine.Execution
	err error
	n   uint64
}

func (b *maker) keep(t *engine.Tensor, err error) *engine.Tensor {
	if b.err == nil {
		b.err = err
	}
	return t
}

func (b *maker) random(d engine.DType, of engine.Distribution, extents ...int) *engine.Tensor {
	b.n++
	out, err := engine.Eval(b.e, engine.Random{Spec: engine.SpecOf(d, extents...), Seed: b.n, Distribution: of})
	if err != nil {
		return b.keep(nil, err)
	}
	return out[0]
}

func (b *maker) numbers(extents ...int) *engine.Tensor {
	return b.random(engine.Float64, engine.Normal, extents...)
}

func (b *maker) complexes(extents ...int) *engine.Tensor {
	return b.random(engine.Complex128, engine.Normal, extents...)
}

func (b *maker) positives(extents ...int) *engine.Tensor {
	x := b.numbers(extents...)
	if b.err == nil {
		b.err = engine.ApplyInto(b.e, engine.Exp, x, x, nil)
	}
	return x
}

// positions are a million random ones below a million.
func (b *maker) positions() *engine.Tensor {
	u := b.random(engine.Float64, engine.Uniform, million)
	if b.err != nil {
		return nil
	}
	v, err := engine.Data[float64](u)
	if err != nil {
		return b.keep(nil, err)
	}
	at := make([]int64, len(v))
	for i, x := range v {
		at[i] = int64(math.Abs(x) * million)
	}
	return b.keep(engine.FromSlice(at, million))
}

func (b *maker) run(op engine.Op, in ...*engine.Tensor) (on, error) {
	return b.runInto(op, nil, in...)
}

// on binds a call of the same operands on an engine of the host.
type on func(engine.Execution) (func() error, error)

// runInto returns what binds op into out, or into a tensor of its own.
func (b *maker) runInto(op engine.Op, out *engine.Tensor, in ...*engine.Tensor) (on, error) {
	if b.err != nil {
		return nil, b.err
	}
	specs := make([]engine.Spec, len(in))
	for i, t := range in {
		specs[i] = t.Spec()
	}
	if out == nil {
		inferred, err := op.Infer(specs)
		if err != nil {
			return nil, err
		}
		if out, err = b.e.Alloc(inferred[0]); err != nil {
			return nil, err
		}
	}
	outs := []*engine.Tensor{out}
	return func(e engine.Execution) (func() error, error) {
		k, err := e.Bind(op, specs, nil)
		if err != nil {
			return nil, err
		}
		return func() error { return e.Run(k, outs, in) }, nil
	}, nil
}
