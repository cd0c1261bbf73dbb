package einsum

import "slices"

// stage is one operation of a planned contraction: what it does to which
// nodes, and in which order of labels it sees them.
type stage struct {
	node        int // the node it makes
	left, right int // the nodes it reads; right is None for a reduction
	kind        stageKind
	batch       []int // labels of both operands that stay; all that stay unless dot
	leftFree    []int // labels of the left operand alone (dot)
	rightFree   []int // labels of the right operand alone (dot)
	summed      []int // labels that end here (dot, reduction)
}

type stageKind uint8

const (
	reduction stageKind = iota // sum over labels of one operand, or copy
	multiply                   // product without a sum: element by element, spread over absent labels
	dot                        // product with a sum
)

// layOut chooses the order in which the labels of each intermediate lie in
// memory, and with it the stages.
//
// A dot product gives batch labels, then those of the left operand, then those
// of the right one, and is cheapest when each operand lies as batch labels,
// then free and summed labels in either order, each group together. So the
// orders are chosen from the output back to the operands: each tensor says how
// its step should find its parts, as far as the steps that make those allow.
// Labels of length 1 are left out everywhere.
func (p *Plan) layOut() {
	t := p.tree
	p.orders = make([][]int, len(t.nodes))
	p.stages = make([]stage, 0, len(t.nodes))
	wanted := make([][]int, len(t.nodes))
	root := len(t.nodes) - 1
	wanted[root] = p.long(distinct(t.output))
	if len(t.operands) == 1 {
		p.layOutOperand(root, true)
		return
	}
	for i := root; i >= len(t.operands); i-- {
		nd := &t.nodes[i]
		s := p.classify(i)
		if s.kind == multiply {
			p.orders[i], s.batch = wanted[i], wanted[i]
			wanted[nd.left] = keep(wanted[i], t.nodes[nd.left].labels)
			wanted[nd.right] = keep(wanted[i], t.nodes[nd.right].labels)
		} else {
			p.orderDot(&s, wanted)
			if i == root {
				p.orders[i] = wanted[i]
			}
		}
		p.stages = append(p.stages, s)
		for _, from := range [2]int{nd.left, nd.right} { // right before, so that sums do not wait in memory
			if t.nodes[from].left == None {
				p.layOutOperand(from, false)
			}
		}
	}
	slices.Reverse(p.stages)
}

// layOutOperand adds the stage of an operand whose private labels have to be
// summed, or that is the output's only source. Other operands are read in
// place.
func (p *Plan) layOutOperand(k int, alone bool) {
	t := p.tree
	axes := p.long(distinct(t.operands[k])) // in the order of the operand's axes
	var summed []int
	for _, l := range axes {
		if !t.nodes[k].labels.has(l) {
			summed = append(summed, l)
		}
	}
	p.orders[k] = keep(axes, t.nodes[k].labels)
	if alone {
		p.orders[k] = p.long(distinct(t.output))
	}
	if alone || len(summed) > 0 {
		p.stages = append(p.stages, stage{node: k, left: k, right: None, kind: reduction, batch: p.orders[k], summed: summed})
	}
}

// classify sorts the labels of a step into batch, free and summed ones.
func (p *Plan) classify(i int) stage {
	t := p.tree
	nd := t.nodes[i]
	a, b := t.nodes[nd.left].labels, t.nodes[nd.right].labels
	s := stage{node: i, left: nd.left, right: nd.right, kind: dot}
	for _, l := range p.long(nd.loops) {
		switch {
		case !nd.labels.has(l):
			s.summed = append(s.summed, l)
		case a.has(l) && b.has(l):
			s.batch = append(s.batch, l)
		case a.has(l):
			s.leftFree = append(s.leftFree, l)
		default:
			s.rightFree = append(s.rightFree, l)
		}
	}
	if len(s.summed) == 0 && (len(s.leftFree) == 0 || len(s.rightFree) == 0) {
		s.kind = multiply
	}
	return s
}

// orderDot orders the labels of a dot product, its result and what it wants
// of its operands.
func (p *Plan) orderDot(s *stage, wanted [][]int) {
	want := wanted[s.node]
	sortBy(s.batch, want)
	sortBy(s.leftFree, want)
	sortBy(s.rightFree, want)
	if first(s.rightFree, want) < first(s.leftFree, want) {
		s.left, s.right = s.right, s.left
		s.leftFree, s.rightFree = s.rightFree, s.leftFree
	}
	p.orders[s.node] = join(s.batch, s.leftFree, s.rightFree)

	heavy := s.left
	if p.volume(s.right) > p.volume(s.left) {
		heavy = s.right
	}
	p.sortSummed(s.summed, heavy)
	wanted[s.left] = p.choose(s.left,
		join(s.batch, s.leftFree, s.summed), join(s.batch, s.summed, s.leftFree))
	wanted[s.right] = p.choose(s.right,
		join(s.batch, s.summed, s.rightFree), join(s.batch, s.rightFree, s.summed))
}

// sortSummed orders summed labels as the heavier operand has them: in the
// order of its axes, or group by group of the step that makes it.
func (p *Plan) sortSummed(summed []int, heavy int) {
	if p.tree.nodes[heavy].left == None {
		sortBy(summed, p.tree.operands[heavy])
		return
	}
	maker := p.classify(heavy)
	sortBy(summed, join(maker.batch, maker.leftFree, maker.rightFree))
}

// choose returns the order that the step which makes node can give: its batch
// labels, then one free group, then the other. Either will do for an operand,
// which lies as it lies.
func (p *Plan) choose(node int, orders ...[]int) []int {
	if p.tree.nodes[node].left == None {
		return orders[0]
	}
	maker := p.classify(node)
	if maker.kind == multiply {
		return orders[0]
	}
	for _, order := range orders {
		if grouped(order, maker.batch, maker.leftFree, maker.rightFree) ||
			grouped(order, maker.batch, maker.rightFree, maker.leftFree) {
			return order
		}
	}
	return orders[0]
}

// grouped reports whether order is a permutation of groups[0], followed by one
// of groups[1], and so on.
func grouped(order []int, groups ...[]int) bool {
	for _, g := range groups {
		for _, l := range order[:len(g)] {
			if !slices.Contains(g, l) {
				return false
			}
		}
		order = order[len(g):]
	}
	return true
}

// long leaves out the labels of length 1.
func (p *Plan) long(labels []int) []int {
	kept := make([]int, 0, len(labels))
	for _, l := range labels {
		if p.sizes[l] != 1 {
			kept = append(kept, l)
		}
	}
	return kept
}

func (p *Plan) volume(node int) float64 {
	v := 1.0
	for _, l := range p.tree.nodes[node].kept {
		v *= float64(p.sizes[l])
	}
	return v
}

// distinct leaves out repetitions.
func distinct(labels []int) []int {
	list := make([]int, 0, len(labels))
	for _, l := range labels {
		if !slices.Contains(list, l) {
			list = append(list, l)
		}
	}
	return list
}

func keep(labels []int, members set) []int {
	kept := make([]int, 0, len(labels))
	for _, l := range labels {
		if members.has(l) {
			kept = append(kept, l)
		}
	}
	return kept
}

// sortBy sorts labels by their position in order; those that are not in it
// come last, as they were.
func sortBy(labels, order []int) {
	slices.SortStableFunc(labels, func(a, b int) int { return position(a, order) - position(b, order) })
}

func position(l int, order []int) int {
	if i := slices.Index(order, l); i >= 0 {
		return i
	}
	return len(order)
}

// first is the lowest position of the labels in order.
func first(labels, order []int) int {
	if len(labels) == 0 {
		return len(order)
	}
	return position(labels[0], order)
}

func join(lists ...[]int) []int { return slices.Concat(lists...) }
