package enginetest

import (
	"fmt"

	"github.com/hataori/hataori-go/engine"
)

// Sample is an operation of the vocabulary and inputs that show what it takes.
type Sample struct {
	Doc string // the Go name that documents it: a constant or a type
	Op  func(d engine.DType) engine.Op
	In  func(d engine.DType) []engine.Spec
	// Accuracy of an element of the result.
	Accuracy string
}

// Vocabulary lists every operation, in the order of the pages that describe it.
func Vocabulary() (all []Sample) {
	add := func(doc string, op engine.Op, accuracy string, shapes ...[]int) {
		all = append(all, Sample{doc, func(engine.DType) engine.Op { return op }, like(shapes...), accuracy})
	}
	const exact, half = "exact", "½ ulp"
	s, axes := []int{4, 4}, engine.AxesOf(0)
	add("Add", engine.Add{}, half, s, s)
	add("Mul", engine.Mul{}, half+" real, 2 ulp complex", s, s)
	add("Scale", engine.Scale{By: engine.By(2)}, half+" real, 2 ulp complex", s)
	add("Conj", engine.Conj{}, exact, s)
	for n, ops := range [][]engine.Op{1: unaries(), 2: binaries(), 3: ternaries()} {
		for _, op := range ops {
			shapes := make([][]int, n)
			for i := range shapes {
				shapes[i] = s
			}
			add(op.Name(), op, functionAccuracy(op), shapes...)
			if op == engine.Select {
				all[len(all)-1].In = func(d engine.DType) []engine.Spec {
					in := like(shapes...)(d)
					in[0].DType = engine.Bool
					return in
				}
			}
		}
	}
	add("Cast", engine.Cast{To: engine.Float64}, half, s)
	add("Convert", engine.Convert{To: engine.Float64}, exact, s)
	sums := "log n · ½ ulp of the sum of moduli"
	add("ReduceSum", engine.ReduceSum{Axes: axes}, sums, s)
	for _, f := range reductions() {
		add(engine.Reduce{F: f}.Name(), engine.Reduce{F: f, Axes: axes}, reductionAccuracy(f, sums), s)
	}
	add("CumSum", engine.CumSum{}, "½ ulp a step", s)
	add("CumProd", engine.CumProd{}, "½ ulp a step", s)
	add("Sort", engine.Sort{}, exact, s)
	add("ArgSort", engine.ArgSort{}, exact, s)
	add("TopK", engine.TopK{K: 2}, exact, s)
	for _, op := range []engine.Op{engine.Copy{}, engine.Permute{Axes: engine.AxesOf(1, 0)}, engine.Reshape{Shape: engine.ShapeOf(16)}, engine.Diagonal{B: 1}} {
		add(op.Name(), op, exact, s)
	}
	seen := map[string]bool{}
	for _, c := range moverCases() {
		if name := c.op.Name(); !seen[name] {
			seen[name] = true
			add(name, c.op, exact, c.in...)
		}
	}
	index := func(n int) func(engine.DType) []engine.Spec {
		return func(d engine.DType) []engine.Spec {
			in := like(s, s, []int{4, 4, 4})(d)[:n]
			in[1].DType = engine.Int64
			return in
		}
	}
	for _, op := range []engine.Op{engine.Gather{}, engine.TakeAlong{}, engine.Scatter{}, engine.Scatter{Add: true}} {
		_, scatter := op.(engine.Scatter)
		doc, n := op.Name(), 2
		if scatter {
			doc, n = "Scatter", 3
		}
		add(doc, op, exact)
		all[len(all)-1].In = index(n)
	}
	add("DotGeneral", matMul, "as the provider sums", s, s)
	add("ApplyMatrix", engine.ApplyMatrix{}, "as the provider sums", s, s)
	add("GroupedDot", engine.GroupedDot{Jobs: engine.JobsOf(engine.Job{M: 2, N: 2, K: 2, A: square(0), B: square(4), C: square(8)}), Elements: 12},
		"as the provider sums", []int{8}, []int{8})
	made := func(doc string, op func(engine.Spec) engine.Op, accuracy string) {
		all = append(all, Sample{doc, func(d engine.DType) engine.Op { return op(engine.SpecOf(d, 4, 4)) }, like(), accuracy})
	}
	made("Fill", func(s engine.Spec) engine.Op { return engine.Fill{Spec: s} }, exact)
	made("Iota", func(s engine.Spec) engine.Op { return engine.Iota{Spec: s} }, exact)
	made("Random", func(s engine.Spec) engine.Op { return engine.Random{Spec: s} }, "exact; normal 4 ulp")
	return all
}

// like makes inputs of one dtype.
func like(shapes ...[]int) func(engine.DType) []engine.Spec {
	return func(d engine.DType) []engine.Spec {
		in := make([]engine.Spec, len(shapes))
		for i, s := range shapes {
			in[i] = engine.SpecOf(d, s...)
		}
		return in
	}
}

// measured are the functions whose errors package native's tests measure against
// arbitrary precision, and what they keep to in units in the last place of
// float64; float32 is rounded once from that.
var measured = map[engine.Op]float64{
	engine.Exp: 2, engine.Expm1: 2, engine.Log: 1, engine.Log1p: 2, engine.Sinh: 3, engine.Cosh: 2, engine.Tanh: 3, engine.Sin: 2, engine.Cos: 2,
	engine.Tan: 4, engine.Asin: 3, engine.Acos: 2, engine.Atan: 2, engine.Erf: 2, engine.Rsqrt: 2, engine.Pow: 2, engine.Atan2: 2, engine.LogAddExp: 4,
}

func numIn(op engine.Op) int {
	if _, ok := op.(engine.Binary); ok {
		return 2
	}
	return 1
}

func functionAccuracy(op engine.Op) string {
	switch op {
	case engine.Sub:
		return "½ ulp"
	case engine.Sqrt, engine.Div:
		return fmt.Sprintf("½ ulp real, %d ulp complex", 2*Ulps)
	case engine.Abs, engine.Sign:
		return fmt.Sprintf("exact real, %d ulp complex", 2*Ulps)
	}
	if op == engine.LogAddExp {
		return fmt.Sprintf("%g ulp, of ½ where the result is less", measured[op])
	}
	if t := measured[op]; t > 0 {
		ofComplex := 2 * tolerance(op, engine.Complex128).ulps
		if _, err := op.Infer([]engine.Spec{engine.SpecOf(engine.Complex128), engine.SpecOf(engine.Complex128)}[:numIn(op)]); err != nil {
			return fmt.Sprintf("%g ulp", t)
		}
		if op == engine.Pow {
			return fmt.Sprintf("%g ulp, complex %g, or \\|y ln x\\| where that is more", t, ofComplex)
		}
		return fmt.Sprintf("%g ulp, complex %g", t, ofComplex)
	}
	return "exact"
}

func reductionAccuracy(f engine.Reduction, sums string) string {
	switch f {
	case engine.ReduceMean:
		return sums + " / n"
	case engine.ReduceProd:
		return "½ ulp a factor"
	case engine.Norm1, engine.Norm2:
		return "n/256 · ½ ulp of float64"
	case engine.LogSumExp:
		return fmt.Sprintf("n/256 · %d ulp of float64", Ulps)
	}
	return "exact"
}
