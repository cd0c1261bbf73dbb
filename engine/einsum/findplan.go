package einsum

import (
	"cmp"
	"errors"
)

// PlanOptions tune [FindPlan]. The zero value asks for few multiply-adds, whatever
// the memory.
type PlanOptions struct {
	PathOptions
	Limits
}

// FindPlan finds a plan of few multiply-adds, all slices together, whose slices
// meet the limits: of several paths (see [FindPath]), improved once as they are
// and once with large results made dear, and again with the labels cut that
// [Plan.FindCuts] then chooses, it takes the one that is cheapest when it is cut.
// It depends on the arguments alone, so ranks that call it alike have the same
// plan. The default takes a second or two for some hundred operands.
//
// Errors are an *[Error] about the shapes, or a [*LimitError] with the smallest
// limit that was found to be met.
func FindPlan(s Subscripts, shapes [][]int, o PlanOptions) (*Plan, error) {
	if err := o.Limits.check(); err != nil {
		return nil, err
	}
	n, err := newNetwork(s, shapes)
	if err != nil {
		return nil, err
	}
	trees, err := greedyTrees(n, o.PathOptions)
	if err != nil {
		return nil, err
	}
	f := planFinder{subscripts: s, network: n, limits: o.Limits}
	trees = trees[:min(o.refined(), len(trees))]
	bounds := []float64{0}
	if b := o.bound(); b > 0 {
		bounds = append(bounds, b)
	}
	for _, t := range trees {
		for _, bound := range bounds {
			f.budget = refineBudget / (o.refined() * len(bounds))
			if err := f.try(t, bound, true); err != nil {
				return nil, err
			}
		}
	}
	if f.best == nil {
		return nil, f.failure
	}
	return f.best, nil
}

// bound is how many elements a result may have without being dear. A peak is
// that of a few tensors.
func (l Limits) bound() float64 {
	if l.Largest > 0 {
		return float64(l.Largest)
	}
	return float64(l.Peak) / 3
}

// planFinder keeps the best plan of those tried.
type planFinder struct {
	*network
	subscripts Subscripts
	limits     Limits
	budget     int // of refining, for each try
	best       *Plan
	failure    error // why there is none
}

// try refines a tree, which may be of the network's with other sizes, cuts it,
// and, if again, tries what it refines to with the labels cut.
func (f *planFinder) try(t *tree, bound float64, again bool) error {
	r := newRefiner(t, f.budget, bound)
	r.refine()
	path := r.path()
	t, err := newTree(f.network, path)
	if err != nil {
		return err
	}
	c := newCutter(f.subscripts, path, t, f.limits)
	if err := c.search(); err != nil {
		if old := (*LimitError)(nil); f.failure == nil || errors.As(f.failure, &old) && err.Least < old.Least {
			f.failure = err
		}
		return nil
	}
	sizes, cuts := c.divide(c.parts)
	p, err := newPlan(f.subscripts, path, t, cuts)
	if err != nil { // too large to be addressed
		if f.failure == nil {
			f.failure = err
		}
		return nil
	}
	if f.best == nil || cheaper(p, f.best) {
		f.best = p
	}
	if !again || len(cuts) == 0 {
		return nil
	}
	part := *f.network
	part.sizes = sizes
	t, err = newTree(&part, path)
	if err != nil {
		return err
	}
	return f.try(t, bound, false)
}

// cheaper orders plans by multiply-adds, then slices, then memory.
func cheaper(a, b *Plan) bool {
	return cmp.Or(cmp.Compare(a.cost.Operations, b.cost.Operations), cmp.Compare(a.Slices(), b.Slices()), cmp.Compare(a.cost.Peak, b.cost.Peak)) < 0
}
