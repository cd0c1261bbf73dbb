package einsum

import "slices"

// Where an operand or a result of a product does not lie as matrices, the
// engine copies it, to scratch that it keeps. The plan counts that memory too,
// by the rule that engines follow: of the orders in which the tensors lie they
// walk the labels in the one that copies least. Operands are taken to be compact.
// A provider that cannot read what lies as matrices costs more.

// The tensors of a product.
const (
	made = iota
	left
	right
)

// loop is a label of a product: its length and its stride in each tensor.
type loop struct{ size, result, left, right int }

func (l loop) stride(tensor int) int { return [...]int{l.result, l.left, l.right}[tensor] }

// mostScratch is the number of elements that the engine copies at once: for one
// stage, or for one of each branch.
func (p *Plan) mostScratch() int {
	most := 0
	for i := range p.stages {
		most = max(most, p.scratch(&p.stages[i]))
	}
	if p.wide == nil {
		return most
	}
	all, first := 0, 0
	for _, end := range p.wide.ends {
		own := 0
		for i := first; i < end; i++ {
			own = max(own, p.scratch(&p.wide.stages[i]))
		}
		all, first = all+own, end
	}
	return max(most, all)
}

// scratch is the number of elements that the engine copies for stage s.
func (p *Plan) scratch(s *stage) int {
	if s.kind != dot {
		return 0
	}
	strides := [3]map[int]int{p.strides(s.node), p.strides(s.left), p.strides(s.right)}
	group := func(labels []int) []loop {
		loops := make([]loop, len(labels))
		for i, l := range labels {
			loops[i] = loop{p.sizes[l], strides[made][l], strides[left][l], strides[right][l]}
		}
		return loops
	}
	rows, columns, sums := group(s.leftFree), group(s.rightFree), group(s.summed)
	size := [3]int{volume(rows) * volume(columns), volume(rows) * volume(sums), volume(sums) * volume(columns)}
	batch := volume(group(s.batch))
	least, best := -1, 0
	for _, m := range [2]int{made, left} {
		for _, n := range [2]int{made, right} {
			for _, k := range [2]int{left, right} {
				r, c, s := sorted(rows, m), sorted(columns, n), sorted(sums, k)
				cost, copied := 0, 0
				for tensor, two := range [3][2][]loop{{r, c}, {r, s}, {s, c}} {
					if single(two[0], tensor) && single(two[1], tensor) {
						continue
					}
					copied += aligned(batch * size[tensor])
					cost += batch * size[tensor]
					if tensor == made { // there and back
						cost += batch * size[tensor]
					}
				}
				if least < 0 || cost < least {
					least, best = cost, copied
				}
			}
		}
	}
	return best
}

func volume(loops []loop) int {
	v := 1
	for _, l := range loops {
		v *= l.size
	}
	return v
}

// sorted orders loops as they lie in a tensor, the longest stride first.
func sorted(loops []loop, tensor int) []loop {
	loops = slices.Clone(loops)
	slices.SortStableFunc(loops, func(a, b loop) int { return b.stride(tensor) - a.stride(tensor) })
	return loops
}

// single reports whether a tensor sees the loops as one.
func single(loops []loop, tensor int) bool {
	for i := 0; i+1 < len(loops); i++ {
		if loops[i].stride(tensor) != loops[i+1].size*loops[i+1].stride(tensor) {
			return false
		}
	}
	return true
}

// strides are those of a node's labels, of operands that lie compact.
func (p *Plan) strides(node int) map[int]int {
	t := p.tree
	axes, sizes := p.orders[node], p.sizes
	switch {
	case node == len(t.nodes)-1:
		axes = t.output
	case p.places[node].elements == 0: // a slice of the whole operand
		axes, sizes = t.operands[node], t.sizes
	}
	strides, stride := make(map[int]int, len(axes)), 1
	for _, l := range slices.Backward(axes) {
		strides[l] += stride // a repeated label walks the diagonal
		stride *= max(sizes[l], 1)
	}
	return strides
}
