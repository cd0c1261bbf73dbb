package einsum

import "slices"

// place is where the elements of a node lie in the arena.
type place struct{ offset, elements int }

// lineElements keeps tensors of the arena on cache lines of their own: so many
// elements of any floating type fill one or more of 64 bytes.
const lineElements = 16

// schedule puts the stages that no cut reaches first and gives every
// intermediate its place in the arena, from the stage that makes it to the one
// that reads it. What a fixed stage makes for one that varies stays for good.
func (p *Plan) schedule() {
	varies := p.tree.varying(p.cuts)
	slices.SortStableFunc(p.stages, func(a, b stage) int { return rank(varies[a.node]) - rank(varies[b.node]) })
	p.fixed = len(p.stages)
	if i := slices.IndexFunc(p.stages, func(s stage) bool { return varies[s.node] }); i >= 0 {
		p.fixed = i
	}
	if len(p.cuts) == 0 {
		p.fixed = 0 // nothing to share: operands may change between runs
	}
	p.places = make([]place, len(p.tree.nodes))
	a := layer{plan: p, places: p.places}
	for i := range p.stages {
		s := &p.stages[i]
		a.put(s)
		for _, from := range [2]int{s.left, s.right} {
			if from != None && from != s.node && (!varies[s.node] || varies[from] || p.fixed == 0) {
				a.free(from)
			}
		}
	}
	p.arena = a.end
}

// layer lays tensors into the arena, each into the lowest gap that holds it.
type layer struct {
	plan   *Plan
	places []place // of nodes
	from   int     // the lowest offset to take
	used   []place // by offset
	end    int     // of all that was ever used
}

// put gives the result of a stage its place. The output lies in the caller's tensor.
func (a *layer) put(s *stage) {
	if s.node == len(a.places)-1 {
		return
	}
	elements := 1
	for _, l := range a.plan.orders[s.node] {
		elements *= a.plan.sizes[l]
	}
	at := a.fit(max(elements, 1))
	a.places[s.node] = at
	a.use(at)
}

func (a *layer) use(at place) {
	a.used = append(a.used, at)
	slices.SortFunc(a.used, func(a, b place) int { return a.offset - b.offset })
	a.end = max(a.end, at.offset+at.elements)
}

// free gives back the place of a node, if it has one.
func (a *layer) free(node int) {
	a.used = slices.DeleteFunc(a.used, func(at place) bool { return at == a.places[node] })
}

// fit returns the lowest place for elements between the used ones.
func (a *layer) fit(elements int) place {
	elements = aligned(elements)
	offset := a.from
	for _, u := range a.used {
		if u.offset-offset >= elements {
			break
		}
		offset = u.offset + u.elements
	}
	return place{offset: offset, elements: elements}
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

// aligned rounds up to whole lines.
func aligned(elements int) int { return (elements + lineElements - 1) / lineElements * lineElements }
