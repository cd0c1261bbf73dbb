package einsum

import (
	"cmp"
	"slices"
)

// Branches of a tree do not depend on one another. Steps that are too small to be
// cut among workers are gathered into branches, which an engine of more than one
// worker runs at the same time; the others follow, one by one, each on all workers.
//
// A plan in slices has no branches: there it is slices that run at the same time.

// wide is the order of the stages for engines of more than one worker, and where
// tensors lie then: what branches make lies apart.
type wide struct {
	stages []stage
	ends   []int // of each branch in stages
	places []place
}

// The work model: about what a step takes, in nanoseconds, whatever the element
// type; only the order of magnitude matters.
const (
	callNs       = 250.
	operationsNs = 6.      // multiply-adds in one
	elementsNs   = 4.      // elements read or written in one
	worthNs      = 20_000. // waking workers and gathering them
	lightWork    = 1 << 20 // multiply-adds of a step that belongs into a branch, at most,
	lightSize    = 1 << 16 // and the elements that it moves
	mostBranches = 8
	finer        = 1.1     // of the time, what smaller branches may cost
	moreArena    = 1 << 16 // elements that branches may need beyond what one worker needs
)

// branch looks for branches that save time, and for their places.
func (p *Plan) branch() {
	if len(p.cuts) > 0 || len(p.path) < 3 {
		return
	}
	roots := p.branchRoots()
	if len(roots) < 2 {
		return
	}
	w := &wide{places: make([]place, len(p.places))}
	of := make([]int, len(p.tree.nodes)) // the branch of each node, or len(roots)
	for i := range of {
		of[i] = len(roots)
	}
	for b, list := range roots {
		for _, r := range list {
			p.mark(of, r, b)
		}
	}
	trunk := layer{plan: p, places: w.places}
	for b := range roots {
		own := layer{plan: p, places: w.places, from: trunk.end}
		p.lay(w, &own, of, b)
		w.ends = append(w.ends, len(w.stages))
		for _, at := range own.used { // what the branch leaves
			trunk.use(at)
		}
		trunk.end = max(trunk.end, own.end)
	}
	p.lay(w, &trunk, of, len(roots))
	if trunk.end <= p.arena+max(p.arena/8, moreArena) {
		p.wide, p.arena = w, max(p.arena, trunk.end)
	}
}

// lay appends the stages of a branch to w and gives their tensors places.
func (p *Plan) lay(w *wide, a *layer, of []int, branch int) {
	for i := range p.stages {
		s := &p.stages[i]
		if of[s.node] != branch {
			continue
		}
		w.stages = append(w.stages, *s)
		a.put(s)
		for _, from := range [2]int{s.left, s.right} {
			if from != None && from != s.node {
				a.free(from)
			}
		}
	}
}

// mark notes the branch of a node and of all below it.
func (p *Plan) mark(of []int, node, branch int) {
	for stack := []int{node}; len(stack) > 0; {
		i := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		of[i] = branch
		if nd := &p.tree.nodes[i]; nd.left != None {
			stack = append(stack, nd.left, nd.right)
		}
	}
}

// branchRoots finds the nodes below which all is done in branches, for each branch
// the roots of its parts; none if branches do not pay.
func (p *Plan) branchRoots() [][]int {
	t := p.tree
	own := p.nodeTimes()
	below := make([]float64, len(t.nodes)) // of a node and all below it; −1 where not all is light
	var roots []int
	serial := 0.
	root := func(from int) {
		if below[from] > 0 {
			roots = append(roots, from)
			serial += below[from]
		}
	}
	for i := range t.nodes {
		nd := &t.nodes[i]
		below[i] = own[i]
		if nd.left == None {
			continue
		}
		if l, r := below[nd.left], below[nd.right]; min(own[i], l, r) >= 0 && i < len(t.nodes)-1 {
			below[i] += l + r
			continue
		}
		below[i] = -1
		root(nd.left)
		root(nd.right)
	}
	best, least := []int(nil), (serial-worthNs)/finer
	for trunk := 0.; len(roots) > 1; {
		heaviest, all := roots[0], 0.
		for _, r := range roots {
			all += below[r]
			if below[r] > below[heaviest] {
				heaviest = r
			}
		}
		// On two workers; more and smaller branches suit more workers, and uneven ones.
		if took := trunk + max(below[heaviest], all/2); took < least*finer {
			best, least = slices.Clone(roots), min(least, took)
		}
		nd := &t.nodes[heaviest]
		if below[heaviest] <= all/mostBranches || nd.left == None {
			break
		}
		// Its last step will follow the branches, what is below it be in two.
		roots = slices.DeleteFunc(roots, func(r int) bool { return r == heaviest })
		trunk += own[heaviest]
		root(nd.left)
		root(nd.right)
	}
	return gather(best, below)
}

// nodeTimes is about what the stage of each node takes, −1 where it is not light.
func (p *Plan) nodeTimes() []float64 {
	t := p.tree
	times := make([]float64, len(t.nodes))
	for _, s := range p.stages {
		nd := &t.nodes[s.node]
		work, moved := t.work(nd, p.sizes), p.volume(s.node)
		if s.right == None {
			moved += work
		} else {
			moved += p.volume(s.left) + p.volume(s.right)
		}
		times[s.node] = callNs + work/operationsNs + moved/elementsNs
		if work > lightWork || moved > lightSize {
			times[s.node] = -1
		}
	}
	return times
}

// gather puts roots into branches of about the same work, the heaviest first.
func gather(roots []int, work []float64) [][]int {
	slices.SortFunc(roots, func(a, b int) int { return cmp.Or(cmp.Compare(work[b], work[a]), a-b) })
	branches := make([][]int, min(mostBranches, len(roots)))
	load := make([]float64, len(branches))
	for _, r := range roots {
		at := 0
		for b := range load {
			if load[b] < load[at] {
				at = b
			}
		}
		branches[at] = append(branches[at], r)
		load[at] += work[r]
	}
	return branches
}
