package engine

// DotGeneral is the pairwise contraction
//
//	out[batch…, left free…, right free…] =
//	    Alpha · Σ_contracted op(left)[…] · op(right)[…]  +  Beta · out
//
// Batch axis BatchL[i] of the left operand goes with BatchR[i] of the right
// one and appears once in the output; ContractL[i] goes with ContractR[i] and
// is summed over. Axes of a pair have equal extents. The remaining axes are
// free and keep their order. op conjugates where ConjL or ConjR is set
// (without effect on real types).
//
// Alpha is 1 and Beta is 0 unless given; both are rounded to the dtype. The output
// may overlap neither input. Any numeric dtype, the same on both sides; integers
// wrap.
//
// With Beta 0 the output is never read; with Alpha 0, or nothing to sum, the inputs
// are not, whatever the other factor is. Otherwise NaN and infinities propagate, as
// the arithmetic of the parts makes them: complex products are (ac − bd) + (ad + bc)i,
// so that an infinite one may be NaN. Alpha multiplies the sums, or the terms before
// they are added: one whose product with either overflows may give infinities. Of an
// infinite or NaN Alpha no part of Alpha · Σ is finite; which is infinite and which
// NaN depends on the engine.
//
// The vocabulary is StableHLO's dot_general.
type DotGeneral struct {
	BatchL, BatchR       Axes
	ContractL, ContractR Axes
	ConjL, ConjR         bool
	Alpha, Beta          Factor
}

// Name implements Op.
func (DotGeneral) Name() string { return "DotGeneral" }

// MayAlias implements Op.
func (DotGeneral) MayAlias(out, in int) bool { return false }

// Infer implements Op.
func (d DotGeneral) Infer(in []Spec) ([]Spec, error) {
	const op = "DotGeneral"
	if err := wantNumeric(op, in, 2); err != nil {
		return nil, err
	}
	l, r := in[0], in[1]
	if err := pairs(op, "batch", d.BatchL, d.BatchR, l, r); err != nil {
		return nil, err
	}
	if err := pairs(op, "contracted", d.ContractL, d.ContractR, l, r); err != nil {
		return nil, err
	}
	if err := d.Alpha.check(op, l.DType); err != nil {
		return nil, err
	}
	if err := d.Beta.check(op, l.DType); err != nil {
		return nil, err
	}
	freeL, err := freeAxes(op, Input(0), l.Rank(), d.BatchL, d.ContractL)
	if err != nil {
		return nil, err
	}
	freeR, err := freeAxes(op, Input(1), r.Rank(), d.BatchR, d.ContractR)
	if err != nil {
		return nil, err
	}
	var buf [2 * MaxRank]int
	ext := buf[:0]
	for i := range d.BatchL.Len() {
		ext = append(ext, l.Shape.At(d.BatchL.At(i)))
	}
	for i := range freeL.Len() {
		ext = append(ext, l.Shape.At(freeL.At(i)))
	}
	for i := range freeR.Len() {
		ext = append(ext, r.Shape.At(freeR.At(i)))
	}
	return inferShape(op, l, ext)
}

// Free returns the free axes of both operands, in order, for operands of the
// given ranks that Infer accepts.
func (d DotGeneral) Free(rankL, rankR int) (left, right Axes) {
	left, _ = freeAxes("DotGeneral", Input(0), rankL, d.BatchL, d.ContractL)
	right, _ = freeAxes("DotGeneral", Input(1), rankR, d.BatchR, d.ContractR)
	return left, right
}

func pairs(op, kind string, la, ra Axes, l, r Spec) error {
	if la.Len() != ra.Len() {
		return shapeErr(op, NoOperand, NoAxis, "%d %s axes on the left (%v), %d on the right (%v)", la.Len(), kind, la, ra.Len(), ra)
	}
	if _, err := axisSet(op, Input(0), la, l.Rank()); err != nil {
		return err
	}
	if _, err := axisSet(op, Input(1), ra, r.Rank()); err != nil {
		return err
	}
	for i := range la.Len() {
		a, b := la.At(i), ra.At(i)
		if l.Shape.At(a) != r.Shape.At(b) {
			return shapeErr(op, Input(1), b, "extent %d of the %s axis differs from %d of axis %d of input 0%s",
				r.Shape.At(b), kind, l.Shape.At(a), a, unstretched(r.Shape.At(b), l.Shape.At(a)))
		}
	}
	return nil
}

// unstretched says in an error about unequal extents what does not happen.
func unstretched(m, n int) string {
	if m == 1 || n == 1 {
		return ": axes of extent 1 are not stretched"
	}
	return ""
}

// freeAxes lists the axes below rank that are in neither batch nor contract.
func freeAxes(op string, operand Operand, rank int, batch, contract Axes) (Axes, error) {
	b, err := axisSet(op, operand, batch, rank)
	if err != nil {
		return Axes{}, err
	}
	c, err := axisSet(op, operand, contract, rank)
	if err != nil {
		return Axes{}, err
	}
	var buf [MaxRank]int
	free := buf[:0]
	for i := range rank {
		switch bit := uint64(1) << i; {
		case b&c&bit != 0:
			return Axes{}, shapeErr(op, operand, i, "axis is both batch and contracted")
		case (b|c)&bit == 0:
			free = append(free, i)
		}
	}
	return AxesOf(free...), nil
}
