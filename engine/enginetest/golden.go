package enginetest

import (
	_ "embed"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/hataori/hataori-go/engine"
)

//go:embed testdata/golden.txt
var goldenText string

// goldenOps names the operations of the table that need parameters.
func goldenOps() map[string]engine.Op {
	ops := map[string]engine.Op{
		"Add": engine.Add{}, "Mul": engine.Mul{}, "Conj": engine.Conj{},
		"ReduceSum-02": engine.ReduceSum{Axes: engine.AxesOf(0, 2)},
		"CumSum-1":     engine.CumSum{Axis: 1}, "CumProd-2": engine.CumProd{Axis: 2},
		"BroadcastInDim": engine.BroadcastInDim{Shape: engine.ShapeOf(2, 3, 4), Axes: engine.AxesOf(1)},
		"Slice":          engine.Slice{Start: list(1, 5), Count: list(2, 3), Step: list(2, -2)},
		"Pad":            engine.Pad{Low: list(1, 0), High: list(0, 2), Value: engine.By(7)},
		"Concat-1":       engine.Concat{Axis: 1}, "Stack-1": engine.Stack{Axis: 1},
		"Split-1":   engine.Split{Axis: 1, Sizes: list(1, 3, 2)},
		"Reverse-1": engine.Reverse{Axes: engine.AxesOf(1)}, "Roll": engine.Roll{Axis: 1, Shift: -8},
		"Tril": engine.Tril{K: 1}, "Triu": engine.Triu{K: -1}, "DiagonalIn": engine.DiagonalIn{B: 1},
		"Gather-0": engine.Gather{}, "Gather-1": engine.Gather{Axis: 1}, "TakeAlong-1": engine.TakeAlong{Axis: 1},
		"Scatter-0": engine.Scatter{}, "ScatterAdd-0": engine.Scatter{Add: true},
		"FuseAxes":      engine.FuseAxes{Order: engine.AxesOf(2, 0, 3, 1), Counts: list(2, 2)},
		"SplitAxes":     engine.SplitAxes{Shape: engine.ShapeOf(2, 3, 4, 5), Order: engine.AxesOf(2, 0, 3, 1), Counts: list(2, 2)},
		"ApplyMatrix-1": engine.ApplyMatrix{Axis: 1},
		"Scale":         engine.Scale{By: engine.By(2.5)}, "Copy": engine.Copy{}, "Permute": engine.Permute{Axes: engine.AxesOf(2, 0, 3, 1)},
		"Reshape": engine.Reshape{Shape: engine.ShapeOf(3, 8)}, "Diagonal": engine.Diagonal{A: 1, B: 3}, "TopK-1": engine.TopK{Axis: 1, K: 3},
		"DotGeneral": matMul, "Fill": engine.Fill{Spec: engine.SpecOf(engine.Float64, 2, 3), Value: engine.By(2.5)},
		"GroupedDot": engine.GroupedDot{Jobs: engine.JobsOf(engine.Job{M: 2, N: 2, K: 2, A: square(0), B: square(4), C: square(0)}), Elements: 4},
		"Iota-1":     engine.Iota{Spec: engine.SpecOf(engine.Float64, 3, 4), Axis: 1},
		"Sort-1":     engine.Sort{Axis: 1}, "ArgSort-1": engine.ArgSort{Axis: 1},
	}
	for _, list := range [][]engine.Op{unaries(), binaries(), ternaries()} {
		for _, op := range list {
			ops[op.Name()] = op
		}
	}
	for _, d := range allTypes {
		ops["Cast-"+d.String()], ops["Convert-"+d.String()] = engine.Cast{To: d}, engine.Convert{To: d}
	}
	return ops
}

// goldenOp is the operation of a case.
func goldenOp(ops map[string]engine.Op, name string) (engine.Op, error) {
	if op := ops[name]; op != nil {
		return op, nil
	}
	stem, digits, _ := strings.Cut(name, "-")
	for _, f := range reductions() {
		op := engine.Reduce{F: f}
		if op.Name() != stem {
			continue
		}
		var axes []int
		for _, c := range digits {
			axes = append(axes, int(c-'0'))
		}
		op.Axes = engine.AxesOf(axes...)
		return op, nil
	}
	return nil, fmt.Errorf("golden.txt: no operation %q", name)
}

// goldenUlps is what the table's results allow: it is rounded from extended
// precision where a function is elementary.
func goldenUlps(op engine.Op, d engine.DType) allowance {
	switch op := op.(type) {
	case engine.Reduce, engine.ReduceSum, engine.CumSum, engine.CumProd:
		return allowance{ulps: 64} // of sums of terms of both signs
	default:
		return tolerance(op, d)
	}
}

type goldenArray struct {
	d      engine.DType
	ext    []int
	values []complex128
}

func parseGolden(fields []string) (a goldenArray, err error) {
	if len(fields) < 2 {
		return a, fmt.Errorf("golden.txt: short line %q", fields)
	}
	for _, d := range allTypes {
		if d.String() == fields[0] {
			a.d = d
		}
	}
	if !a.d.Valid() {
		return a, fmt.Errorf("golden.txt: no dtype %q", fields[0])
	}
	n := 1
	if fields[1] != "-" {
		for _, x := range strings.Split(fields[1], "x") {
			k, err := strconv.Atoi(x)
			if err != nil {
				return a, err
			}
			a.ext, n = append(a.ext, k), n*k
		}
	}
	for _, f := range fields[2:] {
		re, im, both := strings.Cut(f, ",")
		x, err := strconv.ParseFloat(re, 64)
		y := 0.0
		if err == nil && both {
			y, err = strconv.ParseFloat(im, 64)
		}
		if err != nil {
			return a, err
		}
		a.values = append(a.values, complex(x, y))
	}
	if len(a.values) != n {
		return a, fmt.Errorf("golden.txt: %d values for extents %v", len(a.values), a.ext)
	}
	return a, nil
}

// testGolden checks the operations against tables made with numpy.
func testGolden(r *rig) {
	ops, seen := goldenOps(), map[string]bool{}
	var name string
	var in, out []goldenArray
	flush := func() {
		if name != "" {
			stem, _, _ := strings.Cut(name, "-")
			seen[stem] = true
			r.golden(ops, name, in, out)
		}
		in, out = nil, nil
	}
	for _, line := range strings.Split(goldenText, "\n") {
		f := strings.Fields(line)
		if len(f) == 0 || f[0] == "#" {
			continue
		}
		if f[0] == "case" {
			flush()
			name = f[1]
			continue
		}
		a, err := parseGolden(f[1:])
		r.ok(err)
		if f[0] == "in" {
			in = append(in, a)
		} else {
			out = append(out, a)
		}
	}
	flush()
	for _, s := range Vocabulary() {
		if !seen[s.Doc] && s.Doc != "Random" { // the generators have the published test vectors
			r.Errorf("golden.txt has no case of %s", s.Doc)
		}
	}
}

func (r *rig) golden(ops map[string]engine.Op, name string, in, want []goldenArray) {
	r.Helper()
	op, err := goldenOp(ops, name)
	r.ok(err)
	ins := make([]*engine.Tensor, len(in))
	specs := make([]engine.Spec, len(in))
	for i, a := range in {
		ins[i] = r.input(layout((len(name)+i)%int(layouts)), a.d, a.ext, func(index []int) complex128 {
			at := 0
			for k, x := range index {
				at = at*a.ext[k] + x
			}
			return a.values[at]
		})
		specs[i] = ins[i].Spec()
	}
	if err := r.e.Supports(op, specs); err != nil && !in[0].d.IsFloat() {
		wantAs[*engine.UnsupportedError](r, name, err)
		return
	}
	outs, err := engine.Eval(r.e, op, ins...)
	r.ok(err)
	if len(outs) != len(want) {
		r.Fatalf("%s: %d outputs, the table has %d", name, len(outs), len(want))
	}
	for i, w := range want {
		if outs[i].DType() != w.d || outs[i].Shape() != engine.ShapeOf(w.ext...) {
			r.Fatalf("%s: output %d is %v, want %v%v", name, i, outs[i].Spec(), w.d, w.ext)
		}
		got := r.read(outs[i])
		r.near("numpy: "+name, w.d, goldenUlps(op, w.d), got, w.values)
		r.zeros("numpy: "+name, op, got, w.values)
	}
}

// zeros checks the signs of zeros of real results.
func (r *rig) zeros(what string, op engine.Op, got, want []complex128) {
	r.Helper()
	if op == engine.Max || op == engine.Min || op == engine.Clamp || op == engine.LogAddExp || op == engine.Sign {
		return // numpy has 0 for the sign of −0; it returns either zero of two; a sum that cancels is as it is rounded
	}
	for i, w := range want {
		if w == 0 && got[i] == 0 && math.Signbit(real(w)) != math.Signbit(real(got[i])) {
			r.Fatalf("%s: element %d is a zero of the wrong sign", what, i)
		}
	}
}
