package einsum

import (
	"cmp"
	"context"
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
	// Objective is what the path is to have least of; 0 means FewestOperations.
	Objective Objective
}

// Objective is what is minimised.
type Objective uint8

// The objectives.
const (
	// FewestOperations: the fewest multiply-adds.
	FewestOperations Objective = iota
	// SmallestIntermediate: the smallest largest result of a step, and of equals
	// the fewest multiply-adds.
	SmallestIntermediate
)

// score is what paths are compared by, the first number first. Less is better.
type score [2]float64

func (o Objective) score(operations, largest float64) score {
	if o == SmallestIntermediate {
		return score{largest, operations}
	}
	return score{operations, largest}
}

func (a score) compare(b score) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) }

func (o PathOptions) check() error {
	if o.Objective > SmallestIntermediate {
		return wrong(ErrPath, "there is no objective %d; give FewestOperations or SmallestIntermediate", o.Objective)
	}
	return nil
}

// FindPath finds a path of few multiply-adds, or of small intermediates, as
// o.Objective says: the best of several greedy paths (see [Greedy]), each improved
// (see [Improve]); of up to 11 operands the best there is. It depends on the
// arguments alone; the default takes less than a second for some hundred
// operands. ctx ends the search as it does [FindPlan]'s. Errors are an *[Error] about
// the shapes or the objective. Where memory is bounded, [FindPlan] finds path and
// cuts together.
func FindPath(ctx context.Context, s Subscripts, shapes [][]int, o PathOptions) (Path, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	n, err := newNetwork(s, shapes)
	if err != nil {
		return nil, err
	}
	trees, err := greedyTrees(ctx, n, o)
	if err != nil {
		return nil, err
	}
	var best *refiner
	trees = trees[:min(o.refined(), len(trees))]
	for _, t := range trees {
		r := newRefiner(t, refineBudget/o.refined(), 0, o.Objective)
		r.refine(ctx)
		if best == nil || r.score().compare(best.score()) < 0 {
			best = r
		}
	}
	if err := interrupted(ctx); err != nil {
		return nil, err
	}
	return best.path(), nil
}

func (o PathOptions) refined() int {
	if o.Refined <= 0 {
		return 4
	}
	return o.Refined
}

// greedyTrees are the trees of several greedy paths, the best first.
func greedyTrees(ctx context.Context, n *network, o PathOptions) ([]*tree, error) {
	type candidate struct {
		tree  *tree
		score score
	}
	var found []candidate
	for trial := range greedyTrials(n, o.Trials) {
		random := rand.New(rand.NewPCG(o.Seed, uint64(trial)))
		temperature, share := 0.0, 1.0
		if trial > 0 { // each of its own kind
			temperature, share = math.Exp(-6*random.Float64()), random.Float64()
		}
		g := newGreedy(n, random, temperature, share)
		path := g.run(ctx)
		if err := interrupted(ctx); err != nil {
			return nil, err
		}
		t, err := newTree(n, path)
		if err != nil {
			return nil, err
		}
		operations, _, largest := t.measure(n.sizes, nil)
		found = append(found, candidate{t, o.Objective.score(operations, float64(largest))})
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return a.score.compare(b.score) })
	trees := make([]*tree, len(found))
	for i, c := range found {
		trees[i] = c.tree
	}
	return trees, nil
}
