package einsum

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/hataori/hataori-go/engine"
)

// A plan is encoded by what it is made from: the labels in the order of their
// first appearance with their lengths, the operands and the output as numbers of
// labels, the path, the cuts. All numbers are unsigned varints of the shortest
// form, so that a plan has one encoding:
//
//	"htnp" 1
//	labels  (label, length)…
//	operands (axes number…)…
//	axes number…              output
//	(i, j)…                   operands − 1 steps
//	cuts (number, parts)…
//
// Whoever decodes it makes the plan anew, with every check of NewPlan and Slice,
// and gets the same stages and places: they depend on these numbers alone.

const planMagic = "htnp\x01"

// What a plan that is sent may have. A decoder makes sets of labels for each
// tensor, whose memory grows with the product.
const (
	sentOperands = 1 << 14
	sentProduct  = 1 << 26 // operands × labels
)

// MarshalBinary encodes the plan, for other ranks and for files. Plans of more
// than 16384 operands, or whose operands times labels exceed 2²⁶, are refused
// with an *[Error] that wraps [ErrEncoding].
func (p *Plan) MarshalBinary() ([]byte, error) {
	if p.tree == nil {
		return nil, noPlan(ErrEncoding)
	}
	t := p.tree
	if err := sendable(uint64(len(t.operands)), uint64(len(t.labels))); err != nil {
		return nil, err
	}
	b := []byte(planMagic)
	put := func(x int) { b = binary.AppendUvarint(b, uint64(x)) }
	tensor := func(axes []int) {
		put(len(axes))
		for _, l := range axes {
			put(l)
		}
	}
	put(len(t.labels))
	for id, l := range t.labels {
		put(int(l))
		put(t.sizes[id])
	}
	put(len(t.operands))
	for _, axes := range t.operands {
		tensor(axes)
	}
	tensor(t.output)
	for _, step := range p.path {
		put(step[0])
		put(step[1])
	}
	put(len(p.cuts))
	for _, c := range p.cuts {
		put(c.label)
		put(c.parts)
	}
	return b, nil
}

func sendable(operands, labels uint64) error {
	if operands > sentOperands || labels > sentProduct || operands*labels > sentProduct {
		return wrong(ErrEncoding, "%d operands and %d labels are more than a plan that is sent may have", operands, labels)
	}
	return nil
}

// UnmarshalBinary makes p the plan that was encoded: equal in every result and
// cost. p must be new, since plans do not change. It takes nothing but what
// MarshalBinary writes, never allocates by a length that the bytes do not bear
// out, and leaves p as it was after an error, an *[Error] that wraps
// [ErrEncoding] or what [NewPlan] and [Plan.Slice] refuse.
func (p *Plan) UnmarshalBinary(b []byte) error {
	if p.tree != nil {
		return wrong(ErrEncoding, "the plan to decode into is in use; give a new one")
	}
	d := decoder{all: b, rest: b}
	s, shapes := d.network()
	var path Path
	for range max(0, len(shapes)-1) {
		path = append(path, [2]int{d.number(math.MaxInt32), d.number(math.MaxInt32)})
		if d.err != nil {
			return d.err
		}
	}
	cuts := d.cuts()
	if d.err == nil && len(d.rest) > 0 {
		d.fail("%d bytes follow the plan", len(d.rest))
	}
	if d.err != nil {
		return d.err
	}
	made, err := NewPlan(s, shapes, path, cuts...)
	if err != nil {
		return err
	}
	*p = *made
	return nil
}

// decoder reads numbers; after the first fault it reads zeros.
type decoder struct {
	all, rest []byte
	labels    []Label
	sizes     []int
	err       error
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		e := wrong(ErrEncoding, format, args...)
		e.Detail = fmt.Sprintf("byte %d: %s", len(d.all)-len(d.rest), e.Detail)
		d.err = e
		d.rest = nil
	}
}

// number reads a number of at most limit.
func (d *decoder) number(limit uint64) int {
	if d.err != nil {
		return 0
	}
	x, n := binary.Uvarint(d.rest)
	switch {
	case n == 0:
		d.fail("the bytes end within the plan")
	case n < 0 || n > 1 && d.rest[n-1] == 0:
		d.fail("a number is not in its shortest form")
	case x > limit:
		d.fail("%d where %d is the most", x, limit)
	default:
		d.rest = d.rest[n:]
		return int(x)
	}
	return 0
}

// length reads how many things of at least size bytes follow.
func (d *decoder) length(size int) int {
	n := d.number(math.MaxInt32)
	if n > len(d.rest)/size {
		d.fail("%d entries in the %d bytes that are left", n, len(d.rest))
		return 0
	}
	return n
}

func (d *decoder) network() (s Subscripts, shapes [][]int) {
	if len(d.rest) < len(planMagic) || string(d.rest[:len(planMagic)]) != planMagic {
		d.fail("it does not begin as a plan of this version does")
		return s, nil
	}
	d.rest = d.rest[len(planMagic):]
	labels := d.length(2)
	for range labels {
		d.labels = append(d.labels, Label(d.number(math.MaxInt32)))
		d.sizes = append(d.sizes, d.number(math.MaxInt64))
	}
	if sorted := slices.Sorted(slices.Values(d.labels)); len(slices.Compact(sorted)) < labels {
		d.fail("a label is there twice")
	}
	operands := d.length(1)
	if d.err == nil {
		d.err = sendable(uint64(operands), uint64(labels))
	}
	if d.err != nil {
		return s, nil
	}
	inputs, known := make([][]Label, operands), 0
	shapes = make([][]int, operands)
	for k := range inputs {
		inputs[k], shapes[k] = d.tensor(&known)
	}
	if d.err == nil && known < labels {
		d.fail("label %v is in no operand", d.labels[known])
	}
	output, _ := d.tensor(nil)
	if d.err != nil {
		return s, nil
	}
	s, d.err = NewSubscripts(inputs, output)
	return s, shapes
}

// tensor reads numbers of labels, of which known were met before: the next
// new one has the next number.
func (d *decoder) tensor(known *int) (labels []Label, shape []int) {
	axes := d.length(1)
	if axes > engine.MaxRank {
		d.fail("%d axes, a tensor has %d at most", axes, engine.MaxRank)
		return nil, nil
	}
	for range axes {
		l := d.number(math.MaxInt32)
		if known != nil && l == *known {
			*known++
		}
		if d.err == nil && (l >= len(d.labels) || known != nil && l >= *known) {
			d.fail("number %d of a label is out of order", l)
		}
		if d.err != nil {
			return nil, nil
		}
		labels, shape = append(labels, d.labels[l]), append(shape, d.sizes[l])
	}
	return labels, shape
}

func (d *decoder) cuts() (cuts []Cut) {
	for range d.length(2) {
		l, parts := d.number(math.MaxInt32), d.number(math.MaxInt32)
		switch {
		case d.err != nil:
			return nil
		case l >= len(d.labels):
			d.fail("a cut of label number %d of %d", l, len(d.labels))
			return nil
		case parts < 2:
			d.fail("a cut into %d parts", parts)
			return nil
		}
		cuts = append(cuts, Cut{Label: d.labels[l], Parts: parts})
	}
	return cuts
}
