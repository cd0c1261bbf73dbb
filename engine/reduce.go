package engine

import "fmt"

// Reduction is what Reduce makes of the elements it takes together.
type Reduction uint8

// The reductions. ReduceSum is an operation of its own. Of no elements they are
// what is said in square brackets, or a *ShapeError.
const (
	ReduceProd Reduction = 1 + iota // ∏ x [1]; real, complex; integers wrap
	ReduceMax                       // max x, as Max; real
	ReduceMin                       // min x, as Min; real
	ReduceMean                      // Σ x / n [NaN]; float, complex
	ReduceAny                       // ⋁ x [false]: some is true; bool
	ReduceAll                       // ⋀ x [true]: every one is true; bool
	ArgMax                          // argmax x: int64 position of the first of the greatest, or of the first NaN; real (numpy's argmax)
	ArgMin                          // argmin x: int64 position of the first of the smallest, or of the first NaN; real (numpy's argmin)
	Norm1                           // Σ |x| [0]; float, complex; real out
	Norm2                           // √Σ |x|² [0], without undue overflow or underflow; float, complex; real out (BLAS's nrm2)
	NormInf                         // max |x| [0]; NaN if any is; float, complex; real out
	LogSumExp                       // ln Σ eˣ [−∞], without overflow; float (scipy's logsumexp)

	reductionEnd
)

const argType outType = 100

var reductions = [reductionEnd]function{
	ReduceProd: {"ReduceProd", numSet, sameType}, ReduceMax: {"ReduceMax", realSet, sameType}, ReduceMin: {"ReduceMin", realSet, sameType},
	ReduceMean: {"ReduceMean", floatSet | complexSet, sameType}, ReduceAny: {"ReduceAny", boolSet, sameType}, ReduceAll: {"ReduceAll", boolSet, sameType},
	ArgMax: {"ArgMax", realSet, argType}, ArgMin: {"ArgMin", realSet, argType},
	Norm1: {"Norm1", floatSet | complexSet, realType}, Norm2: {"Norm2", floatSet | complexSet, realType},
	NormInf: {"NormInf", floatSet | complexSet, realType}, LogSumExp: {"LogSumExp", floatSet, sameType},
}

// Reduce is out = F of the elements of in along Axes, which are gone. A position
// (ArgMax, ArgMin) counts the elements in row-major order over the reduced axes
// in the order in which the tensor has them. The order of evaluation depends on
// the spec alone, never on the width of an engine. No output may overlap the input.
type Reduce struct {
	F    Reduction
	Axes Axes
}

// Name implements Op.
func (r Reduce) Name() string {
	if r.F == 0 || r.F >= reductionEnd {
		return fmt.Sprintf("Reduction(%d)", uint8(r.F))
	}
	return reductions[r.F].name
}

// MayAlias implements Op.
func (Reduce) MayAlias(out, in int) bool { return false }

// Infer implements Op.
func (r Reduce) Infer(in []Spec) ([]Spec, error) {
	if r.F == 0 || r.F >= reductionEnd {
		return nil, &UnsupportedError{Op: r.Name(), Provider: "engine", Reason: "no such reduction"}
	}
	f := reductions[r.F]
	if err := want(f.name, in, 1); err != nil {
		return nil, err
	}
	if err := f.types(in, 0); err != nil {
		return nil, err
	}
	set, err := axisSet(f.name, Input(0), r.Axes, in[0].Rank())
	if err != nil {
		return nil, err
	}
	var buf [MaxRank]int
	ext := buf[:0]
	for i := range in[0].Rank() {
		n := in[0].Shape.At(i)
		if set&(1<<i) == 0 {
			ext = append(ext, n)
			continue
		}
		switch r.F {
		case ReduceMax, ReduceMin, ArgMax, ArgMin:
			if n == 0 {
				return nil, shapeErr(f.name, Input(0), i, "extent 0: there is none of no elements")
			}
		}
	}
	out := Spec{DType: Int64, Domain: in[0].Domain, Shape: ShapeOf(ext...)}
	if f.out != argType {
		out.DType = f.out.of(in[0].DType)
	}
	return inferred(f.name, out)
}

// CumSum is out[…, k, …] = Σ_{j≤k} in[…, j, …] along Axis, added in that order;
// numeric dtypes; integers wrap. Out may equal in.
type CumSum struct{ Axis int }

// Name implements Op.
func (CumSum) Name() string { return "CumSum" }

// MayAlias implements Op.
func (CumSum) MayAlias(out, in int) bool { return true }

// Infer implements Op.
func (c CumSum) Infer(in []Spec) ([]Spec, error) { return inferAlong("CumSum", numSet, c.Axis, in) }

// CumProd is out[…, k, …] = ∏_{j≤k} in[…, j, …] along Axis, multiplied in that
// order; numeric dtypes; integers wrap. Out may equal in.
type CumProd struct{ Axis int }

// Name implements Op.
func (CumProd) Name() string { return "CumProd" }

// MayAlias implements Op.
func (CumProd) MayAlias(out, in int) bool { return true }

// Infer implements Op.
func (c CumProd) Infer(in []Spec) ([]Spec, error) { return inferAlong("CumProd", numSet, c.Axis, in) }

// inferAlong is for an operation along an axis that keeps dtype and shape.
func inferAlong(op string, set typeSet, axis int, in []Spec) ([]Spec, error) {
	if err := want(op, in, 1); err != nil {
		return nil, err
	}
	if err := (function{name: op, in: set}).types(in, 0); err != nil {
		return nil, err
	}
	if _, err := axisSet(op, Input(0), AxesOf(axis), in[0].Rank()); err != nil {
		return nil, err
	}
	return []Spec{in[0].Compact()}, nil
}
