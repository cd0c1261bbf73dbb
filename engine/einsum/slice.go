package einsum

import (
	"math"
	"slices"
)

// Cut divides the range of a label into Parts equal parts. Parts must divide
// the label's length; Parts equal to the length fixes the label to one value
// per slice.
type Cut struct {
	Label Label
	Parts int
}

type cut struct{ label, parts int }

// Slice returns the plan cut along labels, which replaces the cuts that p may
// have. The slices are numbered 0 ≤ i < Slices() with the parts of the last
// cut running fastest. Slice i reads of every operand the part that the cuts
// leave to it. Slices of labels that are in the output fill different regions
// of it, slices of summed labels are added: see [AddSlice]. Errors are an
// *[Error] that wraps [ErrSlice].
func (p *Plan) Slice(cuts ...Cut) (*Plan, error) {
	if p.tree == nil {
		return nil, noPlan(ErrSlice)
	}
	inner, err := p.tree.numbered(cuts)
	if err != nil {
		return nil, err
	}
	return newPlan(p.subscripts, p.path, p.tree, inner)
}

// numbered are the cuts by numbers of labels, those into one part left out.
func (t *tree) numbered(cuts []Cut) ([]cut, error) {
	inner := make([]cut, 0, len(cuts))
	count := 1.0
	for _, c := range cuts {
		id := slices.Index(t.labels, c.Label)
		switch {
		case id < 0:
			return nil, wrong(ErrSlice, "label %v is in no operand", c.Label)
		case slices.ContainsFunc(inner, func(o cut) bool { return o.label == id }):
			return nil, wrong(ErrSlice, "label %v is cut twice; give one cut with the product of the parts", c.Label)
		case c.Parts < 1 || t.sizes[id]%c.Parts != 0:
			return nil, wrong(ErrSlice, "label %v of length %d cannot be cut into %d equal parts; take a divisor of its length",
				c.Label, t.sizes[id], c.Parts)
		}
		if count *= float64(c.Parts); count > math.MaxInt32 {
			return nil, wrong(ErrSlice, "the cuts make more than %d slices; cut less", math.MaxInt32)
		}
		if c.Parts > 1 {
			inner = append(inner, cut{label: id, parts: c.Parts})
		}
	}
	return inner, nil
}

// Slices is the number of slices, 1 for a plan without cuts.
func (p *Plan) Slices() int {
	count := 1
	for _, c := range p.cuts {
		count *= c.parts
	}
	return count
}

// Cuts returns the cuts of the plan.
func (p *Plan) Cuts() []Cut {
	cuts := make([]Cut, len(p.cuts))
	for i, c := range p.cuts {
		cuts[i] = Cut{Label: p.tree.labels[c.label], Parts: c.parts}
	}
	return cuts
}

// origin sets start, for each label, to the first of its values that slice i
// covers.
func (p *Plan) origin(start []int, i int) {
	clear(start)
	for _, c := range slices.Backward(p.cuts) {
		start[c.label] = i % c.parts * p.sizes[c.label]
		i /= c.parts
	}
}

// AddSlice adds the output of slice i, compact and of shape p.SliceShape(),
// to the whole output, compact and of shape p.OutputShape(). Into zeros, in
// the order of i, it gives the output, with the same bits whoever computed
// the slices. Errors are an *[Error] that wraps [ErrSlice].
func AddSlice[T int32 | int64 | float32 | float64 | complex64 | complex128](p *Plan, whole []T, i int, part []T) error {
	if err := p.checkSlice(len(whole), i, len(part)); err != nil {
		return err
	}
	wholeShape, partShape := p.OutputShape(), p.SliceShape()
	start, offset, stride := make([]int, len(p.sizes)), 0, 1
	p.origin(start, i)
	strides := make([]int, len(wholeShape))
	for axis, l := range slices.Backward(p.tree.output) {
		strides[axis] = stride
		offset += start[l] * stride
		stride *= wholeShape[axis]
	}
	if len(part) > 0 {
		addRegion(whole[offset:], strides, part, partShape)
	}
	return nil
}

// checkSlice says what is wrong with the numbers of elements of the output and of
// slice i.
func (p *Plan) checkSlice(whole, i, part int) error {
	if p.tree == nil {
		return noPlan(ErrSlice)
	}
	if i < 0 || i >= p.Slices() {
		return wrong(ErrSlice, "slice %d is out of range; the plan has %d", i, p.Slices())
	}
	if wholeShape, partShape := p.OutputShape(), p.SliceShape(); whole != product(wholeShape) || part != product(partShape) {
		return wrong(ErrSlice, "%d and %d elements do not fill the shapes %v and %v", whole, part, wholeShape, partShape)
	}
	return nil
}

// addRegion adds a compact tensor to a strided one.
func addRegion[T int32 | int64 | float32 | float64 | complex64 | complex128](whole []T, strides []int, part []T, shape []int) {
	if len(shape) == 0 {
		whole[0] += part[0]
		return
	}
	if len(shape) == 1 {
		for i, x := range part {
			whole[i] += x
		}
		return
	}
	step := len(part) / shape[0]
	for i := range shape[0] {
		addRegion(whole[i*strides[0]:], strides[1:], part[i*step:(i+1)*step], shape[1:])
	}
}

func product(shape []int) int {
	n := 1
	for _, extent := range shape {
		n *= extent
	}
	return n
}

// smallestFactor is the smallest prime factor of n; of numbers without one below
// 2¹⁶, which no cut divides, the number itself.
func smallestFactor(n int) int {
	for f := 2; f <= min(1<<16, n/f); f++ {
		if n%f == 0 {
			return f
		}
	}
	return n
}
