package einsum

import (
	"iter"
	"math/bits"
	"slices"

	"github.com/hataori/hataori-go/engine"
)

// network is a contraction with its sizes known. Labels are numbered from 0
// in order of first appearance, so that sets of them are small bit sets.
type network struct {
	labels   []Label // label of each number
	sizes    []int   // length of each label's axes
	operands [][]int // numbers of the labels of each operand, axis by axis
	output   []int   // numbers of the labels of the output
}

// newNetwork checks shapes against subscripts and against one another.
func newNetwork(s Subscripts, shapes [][]int) (*network, error) {
	if len(s.inputs) == 0 {
		return nil, wrong(ErrSyntax, "the subscripts are the zero value; make them with Parse or NewSubscripts")
	}
	if len(shapes) != len(s.inputs) {
		return nil, wrong(ErrShape, "%d shapes for the %d operands of %v; give one shape per operand", len(shapes), len(s.inputs), s)
	}
	n := &network{operands: make([][]int, len(shapes))}
	number := make(map[Label]int)
	type place struct{ operand, axis int }
	var first []place
	for k, labels := range s.inputs {
		shape := shapes[k]
		if len(shape) != len(labels) {
			return nil, wrongOperand(ErrShape, k, None, "shape %v has %d axes but %d labels; give one label per axis", shape, len(shape), len(labels))
		}
		if len(shape) > engine.MaxRank {
			return nil, wrongOperand(ErrShape, k, None, "it has %d axes, a tensor has %d at most; fuse some", len(shape), engine.MaxRank)
		}
		for axis, l := range labels {
			if shape[axis] < 0 {
				return nil, wrongOperand(ErrShape, k, axis, "length %d is negative", shape[axis])
			}
			id, known := number[l]
			if !known {
				id = len(n.labels)
				number[l] = id
				n.labels = append(n.labels, l)
				n.sizes = append(n.sizes, shape[axis])
				first = append(first, place{k, axis})
			}
			if n.sizes[id] != shape[axis] {
				return nil, n.mismatch(id, k, axis, shape[axis], first[id].operand, first[id].axis)
			}
			n.operands[k] = append(n.operands[k], id)
		}
		if _, ok := n.elements(n.operands[k], n.sizes); !ok {
			return nil, wrongOperand(ErrSize, k, None, "shape %v has more elements than can be addressed", shape)
		}
	}
	for _, l := range s.output {
		n.output = append(n.output, number[l])
	}
	if len(n.output) > engine.MaxRank {
		return nil, wrong(ErrShape, "the output has %d axes, a tensor has %d at most; fuse some", len(n.output), engine.MaxRank)
	}
	if _, ok := n.elements(n.output, n.sizes); !ok {
		return nil, wrong(ErrSize, "the output %v has more elements than can be addressed", n.shape(n.output, n.sizes))
	}
	return n, nil
}

func (n *network) mismatch(id, operand, axis, size, operand0, axis0 int) *Error {
	cure := "make them equal"
	if size == 1 || n.sizes[id] == 1 {
		cure = "axes of length 1 are not stretched; give that axis a label of its own"
	}
	return wrongOperand(ErrShape, operand, axis, "label %v has length %d here but %d in operand %d, axis %d; %s",
		n.labels[id], size, n.sizes[id], operand0, axis0, cure)
}

// shape lists the sizes of labels.
func (n *network) shape(labels, sizes []int) []int {
	shape := make([]int, len(labels))
	for i, l := range labels {
		shape[i] = sizes[l]
	}
	return shape
}

// maxElements bounds one tensor: its bytes, at 16 per element, fit an int64.
const maxElements = 1<<59 - 1

// elements multiplies the sizes of labels; ok is false above maxElements, also
// without the sizes of 0: strides are products too.
func (n *network) elements(labels, sizes []int) (count int, ok bool) {
	product, empty := uint64(1), false
	ok = true
	for _, l := range labels {
		if sizes[l] == 0 {
			empty = true
			continue
		}
		hi, lo := bits.Mul64(product, uint64(sizes[l]))
		if hi != 0 || lo > maxElements {
			ok, lo = false, maxElements
		}
		product = lo
	}
	if empty {
		product = 0
	}
	return int(product), ok
}

// set is a set of label numbers.
type set []uint64

func newSet(labels int) set { return make(set, (labels+63)/64) }

func (s set) has(l int) bool { return s[l/64]>>(l%64)&1 != 0 }
func (s set) add(l int)      { s[l/64] |= 1 << (l % 64) }
func (s set) remove(l int)   { s[l/64] &^= 1 << (l % 64) }

func (s set) union(t set) set {
	u := slices.Clone(s)
	for i := range t {
		u[i] |= t[i]
	}
	return u
}

func (s set) meets(t set) bool {
	for i := range s {
		if s[i]&t[i] != 0 {
			return true
		}
	}
	return false
}

// all yields the members in ascending order.
func (s set) all() iter.Seq[int] {
	return func(yield func(int) bool) {
		for i, word := range s {
			for ; word != 0; word &= word - 1 {
				if !yield(i*64 + bits.TrailingZeros64(word)) {
					return
				}
			}
		}
	}
}

// list returns the members in ascending order.
func (s set) list() []int { return slices.Collect(s.all()) }
