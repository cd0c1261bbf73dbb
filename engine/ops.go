package engine

// Copy is out = in, element by element, for any dtype, whatever the layouts.
// Out may equal in.
type Copy struct{}

// Name implements Op.
func (Copy) Name() string { return "Copy" }

// MayAlias implements Op.
func (Copy) MayAlias(out, in int) bool { return true }

// Infer implements Op.
func (Copy) Infer(in []Spec) ([]Spec, error) {
	if err := want("Copy", in, 1); err != nil {
		return nil, err
	}
	return []Spec{in[0].Compact()}, nil
}

// Permute is out[i_0, …] = in[j_0, …] with j_{Axes[k]} = i_k: axis Axes[k] of in is
// axis k of out (numpy's transpose). It copies; Tensor.Permute is the view.
type Permute struct{ Axes Axes }

// Name implements Op.
func (Permute) Name() string { return "Permute" }

// MayAlias implements Op.
func (Permute) MayAlias(out, in int) bool { return false }

// Infer implements Op.
func (p Permute) Infer(in []Spec) ([]Spec, error) {
	if err := want("Permute", in, 1); err != nil {
		return nil, err
	}
	s, err := in[0].Permuted(p.Axes)
	if err != nil {
		return nil, err
	}
	return []Spec{s.Compact()}, nil
}

// Reshape is out = the elements of in, in row-major order, in another shape of as
// many elements (numpy's reshape). It copies; Tensor.Reshape is the view.
type Reshape struct{ Shape Shape }

// Name implements Op.
func (Reshape) Name() string { return "Reshape" }

// MayAlias implements Op.
func (Reshape) MayAlias(out, in int) bool { return false }

// Infer implements Op.
func (r Reshape) Infer(in []Spec) ([]Spec, error) {
	if err := want("Reshape", in, 1); err != nil {
		return nil, err
	}
	out := Spec{DType: in[0].DType, Domain: in[0].Domain, Shape: r.Shape}
	if err := checkReshape("Reshape", in[0], out); err != nil {
		return nil, err
	}
	return []Spec{out}, nil
}

// Diagonal is out[…, i, …] = in[…, i, …, i, …], in at equal indices of axes A and B,
// whose extents must be equal: axis A runs along the diagonal, axis B is gone. It
// copies; Tensor.Diagonal is the view.
type Diagonal struct{ A, B int }

// Name implements Op.
func (Diagonal) Name() string { return "Diagonal" }

// MayAlias implements Op.
func (Diagonal) MayAlias(out, in int) bool { return false }

// Infer implements Op.
func (d Diagonal) Infer(in []Spec) ([]Spec, error) {
	if err := want("Diagonal", in, 1); err != nil {
		return nil, err
	}
	s, err := in[0].DiagonalOf(d.A, d.B)
	if err != nil {
		return nil, err
	}
	return []Spec{s.Compact()}, nil
}

// Add is out = a + b for numeric dtypes, equal shapes. Integers wrap. Out may
// equal either input.
type Add struct{}

// Name implements Op.
func (Add) Name() string { return "Add" }

// MayAlias implements Op.
func (Add) MayAlias(out, in int) bool { return true }

// Infer implements Op.
func (Add) Infer(in []Spec) ([]Spec, error) { return inferElementwise("Add", in, 2) }

// Mul is out = a · b, element by element, for numeric dtypes, equal shapes.
// Complex products are (ac − bd) + (ad + bc)i, with no repair of infinities.
// Integers wrap. Out may equal either input.
type Mul struct{}

// Name implements Op.
func (Mul) Name() string { return "Mul" }

// MayAlias implements Op.
func (Mul) MayAlias(out, in int) bool { return true }

// Infer implements Op.
func (Mul) Infer(in []Spec) ([]Spec, error) { return inferElementwise("Mul", in, 2) }

// Scale is out = By · in for numeric dtypes. By must be given and fit the
// dtype: no imaginary part for real types, an exact integer for integers. It
// is rounded to the dtype once. A real factor (imaginary part +0 or −0) scales
// both parts of a complex element. Out may equal in.
type Scale struct{ By Factor }

// Name implements Op.
func (Scale) Name() string { return "Scale" }

// MayAlias implements Op.
func (Scale) MayAlias(out, in int) bool { return true }

// Infer implements Op.
func (s Scale) Infer(in []Spec) ([]Spec, error) {
	if !s.By.Given() {
		return nil, shapeErr("Scale", NoOperand, NoAxis, "no factor: give one with engine.By")
	}
	out, err := inferElementwise("Scale", in, 1)
	if err == nil {
		err = s.By.check("Scale", in[0].DType)
	}
	return out, err
}

// Conj is out = x − iy for elements x + iy of in; a copy for other numeric dtypes.
// Out may equal in.
type Conj struct{}

// Name implements Op.
func (Conj) Name() string { return "Conj" }

// MayAlias implements Op.
func (Conj) MayAlias(out, in int) bool { return true }

// Infer implements Op.
func (Conj) Infer(in []Spec) ([]Spec, error) { return inferElementwise("Conj", in, 1) }

func inferElementwise(op string, in []Spec, n int) ([]Spec, error) {
	if err := wantNumeric(op, in, n); err != nil {
		return nil, err
	}
	if err := wantSameShape(op, in); err != nil {
		return nil, err
	}
	return []Spec{in[0].Compact()}, nil
}

// ReduceSum is out = Σ in over Axes, which are gone; for numeric dtypes. The sum over no elements is 0, over no axes a copy. Integers wrap.
// The order of summation of an engine depends on the spec alone, never on its
// width.
type ReduceSum struct{ Axes Axes }

// Name implements Op.
func (ReduceSum) Name() string { return "ReduceSum" }

// MayAlias implements Op.
func (ReduceSum) MayAlias(out, in int) bool { return false }

// Infer implements Op.
func (r ReduceSum) Infer(in []Spec) ([]Spec, error) {
	if err := wantNumeric("ReduceSum", in, 1); err != nil {
		return nil, err
	}
	set, err := axisSet("ReduceSum", Input(0), r.Axes, in[0].Rank())
	if err != nil {
		return nil, err
	}
	var buf [MaxRank]int
	ext := buf[:0]
	for i := range in[0].Rank() {
		if set&(1<<i) == 0 {
			ext = append(ext, in[0].Shape.At(i))
		}
	}
	return inferShape("ReduceSum", in[0], ext)
}
