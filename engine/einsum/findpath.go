package einsum

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// PathOptions tune [FindPath]. The zero value is the default.
type PathOptions struct {
	// Trials is the number of greedy paths that are tried; 0 means as
	// GreedyOptions.
	Trials int
	// Refined is how many of them, the cheapest, are improved; 0 means 4.
	Refined int
	// Seed changes the paths tried after the first.
	Seed uint64
}

// FindPath finds a path of few multiply-adds: the cheapest of several greedy
// paths (see [Greedy]), each improved (see [Improve]). It depends on the
// arguments alone; the default takes less than a second for some hundred
// operands. Errors are an *[Error] about the shapes. Where memory is bounded,
// [FindPlan] finds path and cuts together.
func FindPath(s Subscripts, shapes [][]int, o PathOptions) (Path, error) {
	n, err := newNetwork(s, shapes)
	if err != nil {
		return nil, err
	}
	trees, err := greedyTrees(n, o)
	if err != nil {
		return nil, err
	}
	var best *refiner
	trees = trees[:min(o.refined(), len(trees))]
	for _, t := range trees {
		r := newRefiner(t, refineBudget/o.refined(), 0)
		r.refine()
		if best == nil || r.total() < best.total() {
			best = r
		}
	}
	return best.path(), nil
}

func (o PathOptions) refined() int {
	if o.Refined <= 0 {
		return 4
	}
	return o.Refined
}

// greedyTrees are the trees of several greedy paths, the cheapest first.
func greedyTrees(n *network, o PathOptions) ([]*tree, error) {
	type candidate struct {
		tree *tree
		cost float64
	}
	var found []candidate
	for trial := range greedyTrials(n, o.Trials) {
		random := rand.New(rand.NewPCG(o.Seed, uint64(trial)))
		temperature, share := 0.0, 1.0
		if trial > 0 { // each of its own kind
			temperature, share = math.Exp(-6*random.Float64()), random.Float64()
		}
		g := newGreedy(n, random, temperature, share)
		t, err := newTree(n, g.run())
		if err != nil {
			return nil, err
		}
		operations, _, _ := t.measure(n.sizes, nil)
		found = append(found, candidate{t, operations})
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.cost, b.cost) })
	trees := make([]*tree, len(found))
	for i, c := range found {
		trees[i] = c.tree
	}
	return trees, nil
}
