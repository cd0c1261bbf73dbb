package engine

// Gather is out = in 0 with the positions of Axis named by in 1, an index tensor
// of int32 or int64: out[a…, j…, b…] = x[a…, index[j…], b…]; the axes of the
// index tensor take the place of Axis. An index outside the axis is a
// *NumericalError with ErrIndexRange. No output may overlap an input. It is numpy's
// take.
type Gather struct{ Axis int }

// Name implements Op.
func (Gather) Name() string { return "Gather" }

// MayAlias implements Op.
func (Gather) MayAlias(out, in int) bool { return false }

// Infer implements Op.
func (g Gather) Infer(in []Spec) ([]Spec, error) {
	ext, err := gathered("Gather", in, 2, g.Axis)
	if err != nil {
		return nil, err
	}
	return inferShape("Gather", in[0], ext)
}

// gathered checks x and its index tensor, and is the shape of what is gathered.
func gathered(op string, in []Spec, n, axis int) ([]int, error) {
	if err := wantIndex(op, in, n, axis); err != nil {
		return nil, err
	}
	x := in[0].Shape.Ints()
	if r := len(x) - 1 + in[1].Rank(); r > MaxRank {
		return nil, shapeErr(op, Input(1), NoAxis, "the result has rank %d, above %d", r, MaxRank)
	}
	return append(append(append([]int{}, x[:axis]...), in[1].Shape.Ints()...), x[axis+1:]...), nil
}

func wantIndex(op string, in []Spec, n, axis int) error {
	if err := want(op, in, n); err != nil {
		return err
	}
	if d := in[1].DType; d != Int32 && d != Int64 {
		return &DTypeError{Op: op, Operand: Input(1), Got: d, Want: "int32 or int64 for indices"}
	}
	_, err := axisSet(op, Input(0), AxesOf(axis), in[0].Rank())
	return err
}

// TakeAlong is out[…, k, …] = x[…, index[…, k, …], …] along Axis, for an index
// tensor (in 1, int32 or int64) whose extents are those of x but along Axis.
// ArgSort's result puts in order so (numpy's take_along_axis). Errors and overlap as
// Gather.
type TakeAlong struct{ Axis int }

// Name implements Op.
func (TakeAlong) Name() string { return "TakeAlong" }

// MayAlias implements Op.
func (TakeAlong) MayAlias(out, in int) bool { return false }

// Infer implements Op.
func (t TakeAlong) Infer(in []Spec) ([]Spec, error) {
	const op = "TakeAlong"
	if err := wantIndex(op, in, 2, t.Axis); err != nil {
		return nil, err
	}
	if in[1].Rank() != in[0].Rank() {
		return nil, shapeErr(op, Input(1), NoAxis, "rank %d differs from %d of input 0", in[1].Rank(), in[0].Rank())
	}
	for i := range in[0].Rank() {
		if n, m := in[1].Shape.At(i), in[0].Shape.At(i); i != t.Axis && n != m {
			return nil, shapeErr(op, Input(1), i, "extent %d differs from %d of input 0", n, m)
		}
	}
	return inferShape(op, in[0], in[1].Shape.Ints())
}

// Scatter is out = in 0 (x) with updates (in 2) at the positions of Axis named by
// in 1, an index tensor of int32 or int64: out[a…, index[j…], b…] = or, with Add,
// += updates[a…, j…, b…]. Updates have the shape that Gather yields, and x's
// dtype, which must be numeric to add. An index that occurs twice is served in
// row-major order: the last update stays, or sums add up in that order. An index
// outside the axis is a *NumericalError with ErrIndexRange. Out may equal x.
type Scatter struct {
	Axis int
	Add  bool
}

// Name implements Op.
func (s Scatter) Name() string {
	if s.Add {
		return "ScatterAdd"
	}
	return "Scatter"
}

// MayAlias implements Op.
func (Scatter) MayAlias(out, in int) bool { return in == 0 }

// Infer implements Op.
func (s Scatter) Infer(in []Spec) ([]Spec, error) {
	op := s.Name()
	ext, err := gathered(op, in, 3, s.Axis)
	if err != nil {
		return nil, err
	}
	x, u := in[0], in[2]
	if u.DType != x.DType {
		return nil, &DTypeError{Op: op, Operand: Input(2), Got: u.DType, Want: x.DType.String() + " as input 0"}
	}
	if s.Add && !x.DType.IsNumeric() {
		return nil, &DTypeError{Op: op, Operand: Input(0), Got: x.DType, Want: "a numeric type to add"}
	}
	if w := ShapeOf(ext...); u.Shape != w {
		return nil, shapeErr(op, Input(2), NoAxis, "shape %v, the updates of these indices have %v", u.Shape, w)
	}
	return []Spec{x.Compact()}, nil
}

// Sort is out = in with every line along Axis in rising, or falling, order:
// out[…, k, …] ≤, or ≥, out[…, k+1, …]; real dtypes. NaN counts as the greatest, as in
// numpy's sort. Out may equal in.
type Sort struct {
	Axis       int
	Descending bool
}

// Name implements Op.
func (Sort) Name() string { return "Sort" }

// MayAlias implements Op.
func (Sort) MayAlias(out, in int) bool { return true }

// Infer implements Op.
func (s Sort) Infer(in []Spec) ([]Spec, error) { return inferAlong("Sort", realSet, s.Axis, in) }

// ArgSort is out = the int64 positions along Axis that put every line in the order of
// Sort: in[…, out[…, k, …], …] rises, or falls, with k; equal elements stay in their
// order (numpy's stable argsort).
type ArgSort struct {
	Axis       int
	Descending bool
}

// Name implements Op.
func (ArgSort) Name() string { return "ArgSort" }

// MayAlias implements Op.
func (ArgSort) MayAlias(out, in int) bool { return false }

// Infer implements Op.
func (s ArgSort) Infer(in []Spec) ([]Spec, error) {
	out, err := inferAlong("ArgSort", realSet, s.Axis, in)
	if err != nil {
		return nil, err
	}
	out[0].DType = Int64
	return inferred("ArgSort", out...)
}

// TopK is, in two outputs, the K greatest elements of every line along Axis in
// falling order, and their int64 positions, out 0[…, k, …] = in[…, out 1[…, k, …], …]:
// the first K of Sort and ArgSort, descending. No output may overlap the input.
type TopK struct{ Axis, K int }

// Name implements Op.
func (TopK) Name() string { return "TopK" }

// MayAlias implements Op.
func (TopK) MayAlias(out, in int) bool { return false }

// Infer implements Op.
func (t TopK) Infer(in []Spec) ([]Spec, error) {
	out, err := inferAlong("TopK", realSet, t.Axis, in)
	if err != nil {
		return nil, err
	}
	ext := out[0].Shape.Ints()
	if t.K < 0 || t.K > ext[t.Axis] {
		return nil, shapeErr("TopK", Input(0), t.Axis, "%d elements asked for of %d", t.K, ext[t.Axis])
	}
	ext[t.Axis] = t.K
	out[0].Shape = ShapeOf(ext...)
	positions := out[0]
	positions.DType = Int64
	return inferred("TopK", out[0], positions)
}
