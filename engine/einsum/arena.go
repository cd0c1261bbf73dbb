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
	varies := t.varying(p.cuts)
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
			p.arena = max(p.arena, at.offset+at.elements)
		}
		for _, from := range []int{s.left, s.right} {
			if from == None || from == s.node || varies[s.node] && !varies[from] && p.fixed > 0 {
				continue
			}
			used = slices.DeleteFunc(used, func(at place) bool { return at == p.places[from] })
		}
	}
}

// varying says of each node whether it differs from slice to slice.
func (t *tree) varying(cuts []cut) []bool {
	labels := newSet(len(t.labels))
	for _, c := range cuts {
		labels.add(c.label)
	}
	varies := make([]bool, len(t.nodes))
	for i := range t.nodes {
		nd := &t.nodes[i]
		varies[i] = nd.spanned.meets(labels) || nd.left != None && (varies[nd.left] || varies[nd.right])
	}
	return varies
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
	elements = aligned(elements)
	offset := 0
	for _, u := range used {
		if u.offset-offset >= elements {
			break
		}
		offset = u.offset + u.elements
	}
	return place{offset: offset, elements: elements}
}

// aligned rounds up to whole lines.
func aligned(elements int) int { return (elements + lineElements - 1) / lineElements * lineElements }
