package engine

import (
	"math/bits"
	"slices"
)

// Operations on the legs (axes) of tensors in a network: fuse them to a matrix,
// factorise and truncate that, split them again, apply what came out to another leg.

// ApplyMatrix is the product of a matrix with one axis,
//
//	out[…, j, …] = Σ_i m[j, i] · a[…, i, …]
//
// of inputs a, of any rank ≥ 1, and m, J×I: axis Axis, of extent I in a, has extent
// J in out and stays where it is. Conj conjugates m. Numeric dtypes; integers
// wrap. The output may overlap neither input.
type ApplyMatrix struct {
	Axis int
	Conj bool
}

// Name implements Op.
func (ApplyMatrix) Name() string { return "ApplyMatrix" }

// MayAlias implements Op.
func (ApplyMatrix) MayAlias(out, in int) bool { return false }

// Infer implements Op.
func (p ApplyMatrix) Infer(in []Spec) ([]Spec, error) {
	const op = "ApplyMatrix"
	if err := wantNumeric(op, in, 2); err != nil {
		return nil, err
	}
	a, m := in[0], in[1]
	if _, err := axisSet(op, Input(0), AxesOf(p.Axis), a.Rank()); err != nil {
		return nil, err
	}
	if m.Rank() != 2 {
		return nil, shapeErr(op, Input(1), NoAxis, "rank %d: the matrix has two axes", m.Rank())
	}
	if m.Shape.At(1) != a.Shape.At(p.Axis) {
		return nil, shapeErr(op, Input(1), 1, "extent %d differs from %d of axis %d of input 0%s",
			m.Shape.At(1), a.Shape.At(p.Axis), p.Axis, unstretched(m.Shape.At(1), a.Shape.At(p.Axis)))
	}
	var buf [MaxRank]int
	ext := a.Shape.Append(buf[:0])
	ext[p.Axis] = m.Shape.At(0)
	return inferShape(op, a, ext)
}

// Dot is the same product as a contraction of a, of the given rank, and m, and
// the axes of out in the order of the contraction's output. For engines.
func (p ApplyMatrix) Dot(rank int) (d DotGeneral, order Axes) {
	var buf [MaxRank]int
	axes := buf[:0]
	for i := range rank {
		if i != p.Axis {
			axes = append(axes, i)
		}
	}
	return DotGeneral{ContractL: AxesOf(p.Axis), ContractR: AxesOf(1), ConjR: p.Conj}, AxesOf(append(axes, p.Axis)...)
}

// FuseAxes is out = the elements of in, in the row-major order of the axes Order, with
// fewer axes: axis k of out runs over Counts[k] axes of in, the next ones in Order, the
// last of them fastest. Order is a permutation of in's axes, which Counts shares out; a
// count of 0 makes an axis of extent 1. A tensor of axes 0…3 becomes the matrix of axes
// (0, 2) by (1, 3) with Order (0, 2, 1, 3), Counts (2, 2). It copies; where a view says
// the same, Tensor.Permute and Tensor.Reshape make it.
type FuseAxes struct {
	structural
	Order  Axes
	Counts List
}

// Name implements Op.
func (FuseAxes) Name() string { return "FuseAxes" }

// Infer implements Op.
func (f FuseAxes) Infer(in []Spec) ([]Spec, error) {
	const op = "FuseAxes"
	if err := want(op, in, 1); err != nil {
		return nil, err
	}
	ext, err := fused(op, in[0].Shape, f.Order, f.Counts)
	if err != nil {
		return nil, err
	}
	return inferShape(op, in[0], ext)
}

// Moves implements Mover.
func (f FuseAxes) Moves(in, out []Spec) []Move {
	from, _ := in[0].Permuted(f.Order)
	return []Move{whole(0, 0, splitView(out[0], in[0].Shape, f.Order, f.Counts), from)}
}

// SplitAxes is the out of which in = FuseAxes of the same Order and Counts: in's axes,
// each the fusion of Counts[k] axes, become a tensor of the given Shape. It copies.
type SplitAxes struct {
	structural
	Shape  Shape
	Order  Axes
	Counts List
}

// Name implements Op.
func (SplitAxes) Name() string { return "SplitAxes" }

// Infer implements Op.
func (s SplitAxes) Infer(in []Spec) ([]Spec, error) {
	const op = "SplitAxes"
	if err := want(op, in, 1); err != nil {
		return nil, err
	}
	out, err := inferShape(op, in[0], s.Shape.Ints())
	if err != nil {
		return nil, err
	}
	ext, err := fused(op, s.Shape, s.Order, s.Counts)
	if err != nil {
		return nil, err
	}
	if len(ext) != in[0].Rank() {
		return nil, shapeErr(op, Input(0), NoAxis, "rank %d, Counts %v split %d axes", in[0].Rank(), s.Counts, len(ext))
	}
	for k, n := range ext {
		if in[0].Shape.At(k) != n {
			return nil, shapeErr(op, Input(0), k, "extent %d, the axes that it splits into have %d", in[0].Shape.At(k), n)
		}
	}
	return out, nil
}

// Moves implements Mover.
func (s SplitAxes) Moves(in, out []Spec) []Move {
	to, _ := out[0].Permuted(s.Order)
	return []Move{whole(0, 0, to, splitView(in[0], s.Shape, s.Order, s.Counts))}
}

// fused returns the extents of a tensor of the given shape after the fusion.
func fused(op string, shape Shape, order Axes, counts List) ([]int, error) {
	if err := checkPermutation(op, order, shape.Rank()); err != nil {
		return nil, err
	}
	ext, next := make([]int, counts.Len()), 0
	for k := range ext {
		n := counts.At(k)
		if n < 0 || n > order.Len()-next {
			return nil, shapeErr(op, NoOperand, NoAxis, "Counts %v do not share out %d axes", counts, order.Len())
		}
		group := make([]int, n)
		for i := range group {
			group[i] = shape.At(order.At(next))
			next++
		}
		if ext[k] = product(group); ext[k] < 0 {
			return nil, shapeErr(op, NoOperand, k, "the product of extents %v is more than an int can count", group)
		}
	}
	if next != order.Len() {
		return nil, shapeErr(op, NoOperand, NoAxis, "Counts %v share out %d of %d axes", counts, next, order.Len())
	}
	return ext, nil
}

// product is that of extents, −1 where an int cannot count so far.
func product(ext []int) int {
	if slices.Contains(ext, 0) {
		return 0
	}
	n := 1
	for _, x := range ext {
		hi, lo := bits.Mul64(uint64(n), uint64(x))
		if hi != 0 || lo > maxInt {
			return -1
		}
		n = int(lo)
	}
	return n
}

// splitView is the fused spec seen with all of the axes, in their order.
func splitView(s Spec, shape Shape, order Axes, counts List) Spec {
	str := s.AppendStrides(nil)
	ext, strides := make([]int, order.Len()), make([]int, order.Len())
	end := 0
	for k := range str {
		end += counts.At(k)
		step := str[k]
		for i := end - 1; i >= end-counts.At(k); i-- {
			ext[i], strides[i] = shape.At(order.At(i)), step
			step *= max(ext[i], 1)
		}
	}
	s.Shape, s.Strides = ShapeOf(ext...), StridesOf(strides...)
	return s.Canonical()
}
