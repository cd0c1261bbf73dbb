package einsum

import (
	"context"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// Refining replaces small parts of a contraction tree by the best tree over the
// same branches, part after part, until no part gains. A part is a node with
// up to a few branches below it; the best tree over them is found by dynamic
// programming over their subsets. (As the subtree reconfiguration of cotengra,
// Gray and Kourtis, Quantum 5, 410, 2021.)
const (
	partBranches  = 8        // branches of a part
	exactBranches = 11       // networks up to this size are solved as one part
	refineBudget  = 12 << 20 // splits looked at, all parts together: some tenths of a second
	worthwhile    = 1e-3     // a sweep that gains less gains nothing
	idleSweeps    = 5        // of them in succession are the end
)

// Improve returns a path of at most the multiply-adds of the given one, by
// refining its tree. It depends on the arguments alone and takes some tenths of
// a second at most. Networks of up to 11 operands come out with the fewest
// multiply-adds possible. Errors are an *[Error] about shapes or path.
func Improve(s Subscripts, shapes [][]int, path Path) (Path, error) {
	n, err := newNetwork(s, shapes)
	if err != nil {
		return nil, err
	}
	t, err := newTree(n, path)
	if err != nil {
		return nil, err
	}
	r := newRefiner(t, refineBudget, 0, FewestOperations)
	r.refine(context.Background())
	return r.path(), nil
}

// refiner is a contraction tree under change. Nodes are numbered as in tree;
// children may have higher numbers than their parents.
type refiner struct {
	*network
	nodes  []node // labels, left and right alone are kept up to date
	leaves int
	root   int
	work   []float64 // multiply-adds of each step
	size   []float64 // elements of each result, 0 of operands
	budget int
	bound  float64 // results above it cost more; 0: none do
	aim    Objective
	sweep  int
	random *rand.Rand // for the parts' shapes

	part part
}

func newRefiner(t *tree, budget int, bound float64, aim Objective) *refiner {
	r := &refiner{network: t.network, nodes: slices.Clone(t.nodes), leaves: len(t.operands), root: len(t.nodes) - 1, budget: budget,
		bound: bound, aim: aim, random: rand.New(rand.NewPCG(1, 2))}
	r.work, r.size = make([]float64, len(r.nodes)), make([]float64, len(r.nodes))
	for i := range r.nodes {
		if nd := &r.nodes[i]; nd.left != None {
			r.size[i] = r.volume(nd.labels)
			r.work[i] = r.volume(nd.spanned) * r.dearer(r.size[i])
		}
	}
	return r
}

// dearer is how many times more the multiply-adds of a step count whose result
// has so many elements: cutting it down to the bound may cost that much.
func (r *refiner) dearer(elements float64) float64 {
	if r.bound == 0 || elements <= r.bound {
		return 1
	}
	return elements / r.bound
}

func (r *refiner) volume(labels set) float64 {
	v := 1.0
	for l := range labels.all() {
		v *= float64(r.sizes[l])
	}
	return v
}

func (r *refiner) score() score {
	sum := 0.0
	for _, w := range r.work {
		sum += w
	}
	return r.aim.score(sum, slices.Max(r.size))
}

// refine improves the tree until nothing gains, the budget is spent or the context
// ends.
func (r *refiner) refine(ctx context.Context) {
	if r.leaves < 3 {
		return
	}
	if r.leaves <= exactBranches {
		r.improve(r.root, exactBranches)
		return
	}
	idle := 0 // sweeps in succession that gained nothing
	for before := r.score(); r.budget > 0 && idle < idleSweeps && ctx.Err() == nil; r.sweep++ {
		for _, i := range r.postOrder() {
			if r.nodes[i].left != None && r.budget > 0 && ctx.Err() == nil {
				r.improve(i, partBranches)
			}
		}
		after := r.score()
		if idle++; after[0] < before[0]*(1-worthwhile) || after[0] == before[0] && after[1] < before[1]*(1-worthwhile) {
			idle = 0
		}
		before = after
	}
}

// postOrder lists the nodes, children before parents.
func (r *refiner) postOrder() []int {
	order, stack := make([]int, 0, len(r.nodes)), []int{r.root}
	for len(stack) > 0 {
		i := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		order = append(order, i)
		if nd := &r.nodes[i]; nd.left != None {
			stack = append(stack, nd.left, nd.right)
		}
	}
	slices.Reverse(order)
	return order
}

// part is a node with the branches that are to be joined anew below it, and
// the tables of the dynamic programme over their subsets.
type part struct {
	branches []int // nodes
	inner    []int // nodes between the branches and the top, which serve again
	labels   []int // labels of the branches
	words    int   // of a subset's set of labels
	sizes    []float64
	sets     []uint64  // for each subset, the labels that what it makes has
	cost     []float64 // for each subset, the least multiply-adds
	largest  []float64 // for each subset, the largest result on the way to it, where that counts
	least    float64   // what results of the part cannot bring it below
	split    []int     // for each subset, one side of the best split
}

// improve joins the branches of the part below top in the best way.
func (r *refiner) improve(top, most int) {
	p := &r.part
	r.grow(top, most)
	if len(p.branches) < 3 {
		return
	}
	before := r.work[top]
	for _, i := range p.inner {
		before += r.work[i]
	}
	r.describe(top)
	all := 1<<len(p.branches) - 1
	better := false
	if r.aim == SmallestIntermediate {
		was := r.elsewhere()
		r.solveSizes()
		better = p.largest[all] < was || p.largest[all] == was && p.cost[all] < before*(1-1e-9)
	} else {
		r.solve()
		better = p.cost[all] < before*(1-1e-9)
	}
	if better {
		free := slices.Clone(p.inner)
		r.rebuild(top, all, &free)
	}
}

// grow chooses the branches: again and again one is replaced by its two, in the
// first sweep and every second one the one whose step takes most, else any.
func (r *refiner) grow(top, most int) {
	p := &r.part
	p.branches = append(p.branches[:0], r.nodes[top].left, r.nodes[top].right)
	p.inner = p.inner[:0]
	for len(p.branches) < most {
		at, heaviest := None, -1.0
		for k, i := range p.branches {
			weight := r.work[i]
			if r.sweep%2 == 1 {
				weight = r.random.Float64()
			}
			if r.nodes[i].left != None && weight > heaviest {
				at, heaviest = k, weight
			}
		}
		if at == None {
			return
		}
		i := p.branches[at]
		p.inner = append(p.inner, i)
		p.branches[at] = r.nodes[i].left
		p.branches = append(p.branches, r.nodes[i].right)
	}
}

// describe numbers the labels of the branches and lists, for each subset of
// the branches, those that its product has: the ones that the top or another
// branch has too.
func (r *refiner) describe(top int) {
	p := &r.part
	union := newSet(len(r.network.labels))
	for _, i := range p.branches {
		for w, word := range r.nodes[i].labels {
			union[w] |= word
		}
	}
	p.labels = p.labels[:0]
	for l := range union.all() {
		p.labels = append(p.labels, l)
	}
	p.words = (len(p.labels) + 63) / 64
	p.sizes = p.sizes[:0]
	users := make([]int, len(p.labels)) // branches that have a label, as a bit set
	const outside = 1 << 30
	for at, l := range p.labels {
		p.sizes = append(p.sizes, float64(r.network.sizes[l]))
		if r.nodes[top].labels.has(l) {
			users[at] = outside
		}
		for k, i := range p.branches {
			if r.nodes[i].labels.has(l) {
				users[at] |= 1 << k
			}
		}
	}
	subsets := 1 << len(p.branches)
	p.sets = slices.Grow(p.sets[:0], subsets*p.words)[:subsets*p.words]
	clear(p.sets)
	for s := 1; s < subsets; s++ {
		for at, u := range users {
			if u&s != 0 && u&^s != 0 {
				p.sets[s*p.words+at/64] |= 1 << (at % 64)
			}
		}
	}
}

// solve fills the tables.
func (r *refiner) solve() {
	p := &r.part
	subsets := 1 << len(p.branches)
	p.cost = slices.Grow(p.cost[:0], subsets)[:subsets]
	p.split = slices.Grow(p.split[:0], subsets)[:subsets]
	for s := 1; s < subsets; s++ {
		if s&(s-1) == 0 {
			p.cost[s] = 0
			continue
		}
		best, split := math.Inf(1), 0
		dearer := r.dearer(p.volume(s, s))
		low := s & -s // one side has the lowest branch
		for a := (s - 1) & s; a > 0; a = (a - 1) & s {
			if a&low == 0 {
				continue
			}
			r.budget--
			sum := p.cost[a] + p.cost[s^a]
			if sum >= best {
				continue
			}
			if sum += p.volume(a, s^a) * dearer; sum < best || split == 0 {
				best, split = sum, a
			}
		}
		if split == 0 { // all are beyond numbers: any will do
			split = low
		}
		p.cost[s], p.split[s] = best, split
	}
}

// elsewhere finds the largest result outside of the part, below which nothing is
// gained, and returns the largest of all.
func (r *refiner) elsewhere() float64 {
	p := &r.part
	largest := slices.Max(r.size)
	inner := 0.0
	for _, i := range p.inner {
		inner = max(inner, r.size[i])
	}
	p.least = largest
	if inner == largest {
		p.least = 0
		for i, size := range r.size {
			if !slices.Contains(p.inner, i) {
				p.least = max(p.least, size)
			}
		}
	}
	return largest
}

// solveSizes fills the tables so that the largest result comes first, then the
// multiply-adds.
func (r *refiner) solveSizes() {
	p := &r.part
	subsets := 1 << len(p.branches)
	p.cost = slices.Grow(p.cost[:0], subsets)[:subsets]
	p.largest = slices.Grow(p.largest[:0], subsets)[:subsets]
	p.split = slices.Grow(p.split[:0], subsets)[:subsets]
	for s := 1; s < subsets; s++ {
		if s&(s-1) == 0 {
			p.cost[s], p.largest[s] = 0, p.least
			continue
		}
		own, low := p.volume(s, s), s&-s
		best, split := score{math.Inf(1), math.Inf(1)}, low
		for a := (s - 1) & s; a > 0; a = (a - 1) & s {
			if a&low == 0 {
				continue
			}
			r.budget--
			here := score{max(own, p.largest[a], p.largest[s^a]), p.cost[a] + p.cost[s^a]}
			if here.compare(best) >= 0 {
				continue
			}
			if here[1] += p.volume(a, s^a) * r.dearer(own); here.compare(best) < 0 {
				best, split = here, a
			}
		}
		p.largest[s], p.cost[s], p.split[s] = best[0], best[1], split
	}
}

// volume counts the multiply-adds of joining two subsets, or the elements of one
// given twice.
func (p *part) volume(a, b int) float64 {
	v := 1.0
	for w := range p.words {
		for word := p.sets[a*p.words+w] | p.sets[b*p.words+w]; word != 0; word &= word - 1 {
			v *= p.sizes[w*64+bits.TrailingZeros64(word)]
		}
	}
	return v
}

// rebuild makes node i the product of a subset, of inner nodes that are free.
func (r *refiner) rebuild(i, subset int, free *[]int) {
	p := &r.part
	a := p.split[subset]
	sides := [2]int{a, subset ^ a}
	var made [2]int
	for k, s := range sides {
		if s&(s-1) == 0 {
			made[k] = p.branches[bits.TrailingZeros(uint(s))]
			continue
		}
		made[k] = (*free)[len(*free)-1]
		*free = (*free)[:len(*free)-1]
		labels := newSet(len(r.network.labels))
		for at, l := range p.labels {
			if p.sets[s*p.words+at/64]>>(at%64)&1 != 0 {
				labels.add(l)
			}
		}
		r.nodes[made[k]].labels = labels
		r.rebuild(made[k], s, free)
	}
	r.nodes[i].left, r.nodes[i].right = made[0], made[1]
	r.size[i] = p.volume(subset, subset)
	r.work[i] = p.volume(sides[0], sides[1]) * r.dearer(r.size[i])
}

// path writes the tree as a path. Of the two sides of a step the one comes
// first whose way leaves less in memory at once.
func (r *refiner) path() Path {
	peak, second := make([]float64, len(r.nodes)), make([]bool, len(r.nodes)) // second: the right side comes first
	order := r.postOrder()
	for _, i := range order {
		nd := &r.nodes[i]
		if nd.left == None {
			continue
		}
		size := func(k int) float64 {
			if r.nodes[k].left == None {
				return 0 // an operand lies where it lies
			}
			return r.volume(r.nodes[k].labels)
		}
		l, g := size(nd.left), size(nd.right)
		leftFirst, rightFirst := max(peak[nd.left], l+peak[nd.right]), max(peak[nd.right], g+peak[nd.left])
		second[i] = rightFirst < leftFirst
		peak[i] = max(min(leftFirst, rightFirst), l+g+r.volume(nd.labels))
	}
	list := make([]int, r.leaves)
	for k := range list {
		list[k] = k
	}
	path := make(Path, 0, r.leaves-1)
	type visit struct {
		node int
		done bool
	}
	for stack := []visit{{r.root, false}}; len(stack) > 0; {
		v := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		nd := &r.nodes[v.node]
		if nd.left == None {
			continue
		}
		if !v.done {
			stack = append(stack, visit{v.node, true})
			if second[v.node] {
				stack = append(stack, visit{nd.left, false}, visit{nd.right, false})
			} else {
				stack = append(stack, visit{nd.right, false}, visit{nd.left, false})
			}
			continue
		}
		i, j := slices.Index(list, nd.left), slices.Index(list, nd.right)
		path = append(path, [2]int{min(i, j), max(i, j)})
		list = append(without(list, i, j), v.node)
	}
	return path
}
