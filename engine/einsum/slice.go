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
	inner := make([]cut, 0, len(cuts))
	count := 1.0
	for _, c := range cuts {
		id := slices.Index(p.tree.labels, c.Label)
		switch {
		case id < 0:
			return nil, wrong(ErrSlice, "label %v is in no operand", c.Label)
		case slices.ContainsFunc(inner, func(o cut) bool { return o.label == id }):
			return nil, wrong(ErrSlice, "label %v is cut twice; give one cut with the product of the parts", c.Label)
		case c.Parts < 1 || p.tree.sizes[id]%c.Parts != 0:
			return nil, wrong(ErrSlice, "label %v of length %d cannot be cut into %d equal parts; take a divisor of its length",
				c.Label, p.tree.sizes[id], c.Parts)
		}
		if count *= float64(c.Parts); count > math.MaxInt32 {
			return nil, wrong(ErrSlice, "the cuts make more than %d slices; cut less", math.MaxInt32)
		}
		if c.Parts > 1 {
			inner = append(inner, cut{label: id, parts: c.Parts})
		}
	}
	return newPlan(p.subscripts, p.path, p.tree, inner)
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

// origin lists, for each label, the first of its values that slice i covers.
func (p *Plan) origin(i int) []int {
	start := make([]int, len(p.sizes))
	for _, c := range slices.Backward(p.cuts) {
		start[c.label] = i % c.parts * p.sizes[c.label]
		i /= c.parts
	}
	return start
}

// AddSlice adds the output of slice i, compact and of shape p.SliceShape(),
// to the whole output, compact and of shape p.OutputShape(). Into zeros, in
// the order of i, it gives the output, with the same bits whoever computed
// the slices. Errors are an *[Error] that wraps [ErrSlice].
func AddSlice[T float32 | float64 | complex64 | complex128](p *Plan, whole []T, i int, part []T) error {
	wholeShape, partShape := p.OutputShape(), p.SliceShape()
	if i < 0 || i >= p.Slices() {
		return wrong(ErrSlice, "slice %d is out of range; the plan has %d", i, p.Slices())
	}
	if len(whole) != product(wholeShape) || len(part) != product(partShape) {
		return wrong(ErrSlice, "%d and %d elements do not fill the shapes %v and %v", len(whole), len(part), wholeShape, partShape)
	}
	start, offset, stride := p.origin(i), 0, 1
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

// addRegion adds a compact tensor to a strided one.
func addRegion[T float32 | float64 | complex64 | complex128](whole []T, strides []int, part []T, shape []int) {
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

// Limits say what slices have to meet. A zero field asks for nothing.
type Limits struct {
	// Largest is the highest number of elements that a step of one slice may
	// make.
	Largest int
	// Slices is the lowest number of slices. Where the labels do not allow
	// so many, the most that they allow is enough.
	Slices int
}

// gathering is what it takes to move an element of the output and add it, in
// multiply-adds: memory and wires are about so much slower than arithmetic.
const gathering = 50

// FindCuts chooses labels to cut so that the slices meet the limits: again and
// again it cuts the label whose next prime factor costs least time per slice
// won. Time is what √Slices engines would take, each of which does the shared
// work and its part of the rest (cuts that add little work but leave most of it
// shared are as bad as cuts that repeat it), and one place that gathers the
// outputs of all slices (cuts of summed labels multiply them). The choice depends on the plan and
// the limits alone. When no cuts meet the limits, the *[Error] wraps [ErrSlice]
// and says how far cutting goes.
func (p *Plan) FindCuts(limits Limits) ([]Cut, error) {
	t := p.tree
	parts := make([]int, len(t.labels))
	for l := range parts {
		parts[l] = 1
	}
	engines := math.Ceil(math.Sqrt(float64(max(limits.Slices, 1))))
	time := func(sizes []int, cuts []cut) float64 {
		operations, shared, _ := t.measure(sizes, cuts)
		part, _ := t.elements(t.output, sizes)
		count := 1.0
		for _, c := range cuts {
			count *= float64(c.parts)
		}
		return max(1, shared+(operations-shared)/engines+gathering*count*float64(part))
	}
	count := 1
	for {
		sizes, cuts := t.divide(parts)
		_, _, largest := t.measure(sizes, cuts)
		tooLarge := limits.Largest > 0 && largest > limits.Largest
		if !tooLarge && count >= limits.Slices {
			break
		}
		candidates := t.candidates(sizes, limits.Largest, tooLarge)
		before := time(sizes, cuts)
		best, factor, least := None, 0, math.Inf(1)
		for _, l := range candidates {
			f := smallestFactor(sizes[l])
			parts[l] *= f
			after := time(t.divide(parts))
			parts[l] /= f
			if score := math.Log(after/before) / math.Log(float64(f)); score < least {
				best, factor, least = l, f, score
			}
		}
		if best == None && !tooLarge {
			break
		}
		if best == None || count > math.MaxInt32/factor {
			return nil, wrong(ErrSlice, "cutting cannot bring the largest intermediate below %d elements; the limit is %d; raise it or take another path",
				largest, limits.Largest)
		}
		parts[best] *= factor
		count *= factor
	}
	_, inner := t.divide(parts)
	cuts := make([]Cut, len(inner))
	for i, c := range inner {
		cuts[i] = Cut{Label: t.labels[c.label], Parts: c.parts}
	}
	return cuts, nil
}

// divide turns parts per label into sizes and cuts.
func (t *tree) divide(parts []int) ([]int, []cut) {
	sizes := slices.Clone(t.sizes)
	var cuts []cut
	for l, n := range parts {
		if n > 1 {
			sizes[l] /= n
			cuts = append(cuts, cut{label: l, parts: n})
		}
	}
	return sizes, cuts
}

// candidates lists the labels worth cutting: those of results that are too
// large, or else those of the steps that do most. Output labels come first, so
// that of two equally good cuts the one without additions is taken.
func (t *tree) candidates(sizes []int, limit int, tooLarge bool) []int {
	const much = 1. / 32 // of what the largest step does
	steps := t.nodes[min(len(t.operands), len(t.nodes)-1):]
	most := 1.0
	for _, nd := range steps {
		most = max(most, t.work(&nd, sizes))
	}
	useful := newSet(len(t.labels))
	for _, nd := range steps {
		elements, _ := t.elements(nd.kept, sizes)
		switch {
		case tooLarge && elements > limit:
			useful = useful.union(nd.labels)
		case !tooLarge && t.work(&nd, sizes) >= much*most:
			useful = useful.union(nd.spanned)
		}
	}
	list := slices.Clone(t.output)
	for l := range useful.all() {
		if !slices.Contains(t.output, l) {
			list = append(list, l)
		}
	}
	return slices.DeleteFunc(list, func(l int) bool { return sizes[l] < 2 || !useful.has(l) })
}

func smallestFactor(n int) int {
	for f := 2; f*f <= n; f++ {
		if n%f == 0 {
			return f
		}
	}
	return n
}
