package einsum

import "slices"

// place is where the elements of a node lie in the arena.
type place struct{ offset, elements int }

// lineElements keeps tensors of the arena on cache lines of their own: 8
// elements of any floating type fill one or more of 64 bytes.
const lineElements = 16

// schedule puts the stages that no cut reaches first and gives every
// intermediate its place in the arena: the lowest gap that holds it, from the
// stage that makes it to the one that reads it. What a fixed stage makes for
// one that varies stays for good.
func (p *Plan) schedule() {
	t := p.tree
	cutLabels := newSet(len(t.labels))
	for _, c := range p.cuts {
		cutLabels.add(c.label)
	}
	varies := make([]bool, len(t.nodes))
	for i, nd := range t.nodes {
		varies[i] = nd.spanned.meets(cutLabels)
		if nd.left != None {
			varies[i] = varies[i] || varies[nd.left] || varies[nd.right]
		}
	}
	slices.SortStableFunc(p.stages, func(a, b stage) int { return rank(varies[a.node]) - rank(varies[b.node]) })
	p.fixed = len(p.stages)
	if i := slices.IndexFunc(p.stages, func(s stage) bool { return varies[s.node] }); i >= 0 {
		p.fixed = i
	}
	if len(p.cuts) == 0 {
		p.fixed = 0 // nothing to share: operands may change between runs
	}

	p.places = make([]place, len(t.nodes))
	var used []place
	for _, s := range p.stages {
		if s.node != len(t.nodes)-1 { // the output lies in the caller's tensor
			elements := 1
			for _, l := range p.orders[s.node] {
				elements *= p.sizes[l]
			}
			at := fit(used, max(elements, 1))
			p.places[s.node] = at
			used = append(used, at)
			slices.SortFunc(used, func(a, b place) int { return a.offset - b.offset })
			p.cost.Peak = max(p.cost.Peak, at.offset+at.elements)
		}
		for _, from := range []int{s.left, s.right} {
			if from == None || from == s.node || varies[s.node] && !varies[from] && p.fixed > 0 {
				continue
			}
			used = slices.DeleteFunc(used, func(at place) bool { return at == p.places[from] })
		}
	}
}

func rank(varies bool) int {
	if varies {
		return 1
	}
	return 0
}

// fit returns the lowest place for elements between the used ones, which are
// sorted.
func fit(used []place, elements int) place {
	elements = (elements + lineElements - 1) / lineElements * lineElements
	offset := 0
	for _, u := range used {
		if u.offset-offset >= elements {
			break
		}
		offset = u.offset + u.elements
	}
	return place{offset: offset, elements: elements}
}
