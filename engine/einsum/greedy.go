package einsum

import (
	"cmp"
	"container/heap"
	"context"
	"math"
	"math/rand/v2"
	"slices"
)

// GreedyOptions tune [Greedy]. The zero value is the default.
type GreedyOptions struct {
	// Trials is the number of paths tried; 0 means 64, and fewer where
	// operands have very many partners, so that planning stays within about
	// a second.
	Trials int
	// Seed changes the paths tried after the first.
	Seed uint64
}

// Greedy finds a path for subscripts whose path nobody gave. Of all pairs of
// tensors that share a label it contracts the one that makes the list of
// tensors grow least (elements of the product minus those of the pair; of
// equals, the one with fewest multiply-adds), again and again; tensors that
// share nothing are joined last, smallest first. The first trial does just
// that; each later one adds noise of growing temperature to the choice, and
// the trial with the fewest multiply-adds wins. The path depends on the
// arguments alone. Errors are an *[Error] about the shapes.
//
// Sources: the greedy optimiser of opt_einsum (Smith and Gray, Journal of Open
// Source Software 3(26), 753, 2018); the noise, Gumbel's on the logarithm of
// the growth, as in cotengra (Gray and Kourtis, Quantum 5, 410, 2021).
func Greedy(s Subscripts, shapes [][]int, o GreedyOptions) (Path, error) {
	n, err := newNetwork(s, shapes)
	if err != nil {
		return nil, err
	}
	trials := greedyTrials(n, o.Trials)
	var best Path
	least := math.Inf(1)
	for trial := range trials {
		g := newGreedy(n, rand.New(rand.NewPCG(o.Seed, uint64(trial))), float64(trial)/float64(trials), 1)
		path := g.run(context.Background())
		t, err := newTree(n, path)
		if err != nil {
			return nil, err
		}
		if operations, _, _ := t.measure(n.sizes, nil); operations < least || best == nil {
			best, least = path, operations
		}
	}
	return best, nil
}

// greedyTrials is how many paths are tried when trials are asked for.
func greedyTrials(n *network, trials int) int {
	if trials > 0 {
		return trials
	}
	return min(64, 1+(1<<18)/n.partnerships())
}

// run contracts until one tensor is left, or until the context ends: then there is
// no path.
func (g *greedy) run(ctx context.Context) Path {
	for g.pairs.Len() > 0 {
		if ctx.Err() != nil {
			return nil
		}
		p := heap.Pop(&g.pairs).(pair)
		if g.live(p.a) && g.live(p.b) {
			g.contract(p.a, p.b)
		}
	}
	bySize := func(a, b int) int {
		return cmp.Or(cmp.Compare(g.tensors[a].size, g.tensors[b].size), a-b)
	}
	slices.SortFunc(g.ids, bySize)
	for len(g.ids) > 1 {
		g.contract(g.ids[0], g.ids[1])
		last := len(g.ids) - 1
		made := g.ids[last]
		at, _ := slices.BinarySearchFunc(g.ids[:last], made, bySize)
		g.ids = slices.Insert(g.ids[:last], at, made)
	}
	return g.path()
}

// partnerships counts pairs of operands that share a label, and operands.
func (n *network) partnerships() int {
	users := make([]int, len(n.labels))
	for _, labels := range n.operands {
		for _, l := range labels {
			users[l]++
		}
	}
	pairs := len(n.operands)
	for _, u := range users {
		pairs += u * (u - 1) / 2
	}
	return pairs
}

// pair is a contraction that may come next.
type pair struct {
	cost float64 // growth: elements of the product minus those of a and b, on a logarithmic scale, with noise
	work float64 // multiply-adds, which decide between equal costs
	a, b int     // identities of the tensors, a < b
}

type pairHeap []pair

func (h pairHeap) Len() int { return len(h) }
func (h pairHeap) Less(i, j int) bool {
	if h[i].cost != h[j].cost {
		return h[i].cost < h[j].cost
	}
	if h[i].work != h[j].work {
		return h[i].work < h[j].work
	}
	return h[i].a < h[j].a || h[i].a == h[j].a && h[i].b < h[j].b
}
func (h pairHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *pairHeap) Push(x any)   { *h = append(*h, x.(pair)) }
func (h *pairHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// greedyTensor is a tensor of the growing tree. Identities count operands
// first, then results.
type greedyTensor struct {
	labels set
	size   float64
	gone   bool
}

type greedy struct {
	*network
	noise       *rand.Rand
	temperature float64
	share       float64 // of what a step frees that counts against what it makes
	tensors     []greedyTensor
	ids         []int   // tensors still on the list
	users       [][]int // for each label, the tensors that ever had it
	uses        []int   // for each label, tensors on the list, or the output, that have it
	pairs       pairHeap
	steps       [][2]int // identities
}

func newGreedy(n *network, noise *rand.Rand, temperature, share float64) *greedy {
	g := &greedy{network: n, noise: noise, temperature: temperature, share: share, users: make([][]int, len(n.labels)), uses: make([]int, len(n.labels))}
	for _, l := range n.output {
		g.uses[l]++
	}
	operands := make([]set, len(n.operands))
	for k, labels := range n.operands {
		operands[k] = newSet(len(n.labels))
		for _, l := range labels {
			operands[k].add(l)
		}
		for l := range operands[k].all() {
			g.uses[l]++
		}
	}
	for _, labels := range operands {
		g.add(labels) // its pairs depend on the uses of all
	}
	return g
}

func (g *greedy) live(id int) bool { return !g.tensors[id].gone }

// add puts a tensor on the list and its pairs on the heap.
func (g *greedy) add(labels set) {
	id := len(g.tensors)
	g.tensors = append(g.tensors, greedyTensor{labels: labels, size: g.volume(labels)})
	g.ids = append(g.ids, id)
	var partners []int
	for l := range labels.all() {
		g.users[l] = slices.DeleteFunc(g.users[l], func(other int) bool { return !g.live(other) })
		partners = append(partners, g.users[l]...)
		g.users[l] = append(g.users[l], id)
	}
	slices.Sort(partners)
	for _, other := range slices.Compact(partners) {
		growth := g.volume(g.product(other, id)) - g.share*(g.tensors[other].size+g.tensors[id].size)
		cost := math.Copysign(math.Log1p(math.Abs(growth)), growth)
		if g.temperature > 0 {
			cost += g.temperature * math.Log(g.noise.ExpFloat64()) // minus a Gumbel variate
		}
		work := g.volume(g.tensors[other].labels.union(labels))
		heap.Push(&g.pairs, pair{cost: cost, work: work, a: other, b: id})
	}
}

// product is the set of labels that a·b would have.
func (g *greedy) product(a, b int) set {
	x, y := g.tensors[a].labels, g.tensors[b].labels
	kept := x.union(y)
	for l := range kept.all() {
		own := 0
		if x.has(l) {
			own++
		}
		if y.has(l) {
			own++
		}
		if g.uses[l] <= own {
			kept.remove(l)
		}
	}
	return kept
}

func (g *greedy) volume(labels set) float64 {
	v := 1.0
	for l := range labels.all() {
		v *= float64(g.sizes[l])
	}
	return v
}

func (g *greedy) contract(a, b int) {
	kept := g.product(a, b)
	x, y := &g.tensors[a], &g.tensors[b]
	for l := range x.labels.union(y.labels).all() {
		if x.labels.has(l) && y.labels.has(l) {
			g.uses[l]--
		}
	}
	x.gone, y.gone = true, true
	g.ids = slices.DeleteFunc(g.ids, func(id int) bool { return id == a || id == b })
	g.steps = append(g.steps, [2]int{a, b})
	g.add(kept)
}

// path turns identities into positions on the list.
func (g *greedy) path() Path {
	list := make([]int, len(g.operands))
	for k := range list {
		list[k] = k
	}
	path := make(Path, 0, len(g.steps))
	for s, step := range g.steps {
		i, j := slices.Index(list, step[0]), slices.Index(list, step[1])
		path = append(path, [2]int{min(i, j), max(i, j)})
		list = append(without(list, i, j), len(g.operands)+s)
	}
	return path
}
