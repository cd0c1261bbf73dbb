package einsum

import (
	"cmp"
	"context"
	"errors"
	"fmt"
)

// PlanOptions tune [FindPlan]. The zero value asks for few multiply-adds, whatever
// the memory.
type PlanOptions struct {
	PathOptions
	Limits
}

// FindPlan finds a plan of few multiply-adds, all slices together, or of small
// intermediates, as o.Objective says, whose slices meet the limits: of several paths (see [FindPath]), improved as they are and,
// where their results are too large, with large results made dear, it takes the
// one that is best when it is cut as [Plan.FindCuts] chooses, and improves it
// again with those labels cut. It depends on the arguments alone, so ranks that
// call it alike have the same plan. The default takes a second or two for some
// hundred operands.
//
// ctx only ends the search: there is no plan then, and the error is that of ctx
// with its cause. No plan depends on the time that there was. A plan that may cost
// something else is had by other options.
//
// Errors are an *[Error] about the shapes, or a [*LimitError] with the smallest
// limit that was found to be met.
func FindPlan(ctx context.Context, s Subscripts, shapes [][]int, o PlanOptions) (*Plan, error) {
	if err := cmp.Or(o.Limits.check(), o.PathOptions.check()); err != nil {
		return nil, err
	}
	n, err := newNetwork(s, shapes)
	if err != nil {
		return nil, err
	}
	trees, err := greedyTrees(ctx, n, o.PathOptions)
	if err != nil {
		return nil, err
	}
	f := planFinder{subscripts: s, network: n, limits: o.Limits, objective: o.Objective, budget: refineBudget / o.refined()}
	for _, t := range trees[:min(o.refined(), len(trees))] {
		p, tight, err := f.try(ctx, t, 0)
		if err != nil {
			return nil, err
		}
		if !tight {
			continue
		}
		dear, _, err := f.try(ctx, t, o.bound())
		if err == nil {
			err = cmp.Or(f.again(ctx, p, o.bound()), f.again(ctx, dear, o.bound()))
		}
		if err != nil {
			return nil, err
		}
	}
	if f.best == nil {
		return nil, f.failure
	}
	if err := f.again(ctx, f.best, 0); err != nil {
		return nil, err
	}
	return f.best, nil
}

// interrupted is the error of a search whose context has ended, else nil.
func interrupted(ctx context.Context) error {
	err := ctx.Err()
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != err {
		return fmt.Errorf("einsum: planning was interrupted: %w: %w", err, cause)
	}
	return fmt.Errorf("einsum: planning was interrupted: %w", err)
}

// bound is how many elements a result may have without being dear, 0 for any
// number. A peak is that of a few tensors.
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
	objective  Objective
	budget     int // of refining, for each try
	best       *Plan
	failure    error // why there is none
}

// again tries what a plan's path refines to with its labels cut.
func (f *planFinder) again(ctx context.Context, p *Plan, bound float64) error {
	if p == nil || len(p.cuts) == 0 {
		return nil
	}
	part := *f.network
	part.sizes = p.sizes
	t, err := newTree(&part, p.path)
	if err == nil {
		_, _, err = f.try(ctx, t, bound)
	}
	return err
}

// try refines a tree, which may be of the network with other sizes, and cuts it.
// It keeps the plan if it is the best so far, and says whether memory is what
// it had to be cut for. Without a plan that meets the limits it keeps the failure.
func (f *planFinder) try(ctx context.Context, t *tree, bound float64) (p *Plan, tight bool, err error) {
	r := newRefiner(t, f.budget, bound, f.objective)
	r.refine(ctx)
	path := r.path()
	if t, err = newTree(f.network, path); err != nil {
		return nil, false, err
	}
	c := newCutter(f.subscripts, path, t, f.limits)
	tight = c.excess(c.memory(false)) > 1
	unmet := c.search(ctx)
	if err := interrupted(ctx); err != nil {
		return nil, false, err
	}
	if err := unmet; err != nil {
		if old := (*LimitError)(nil); f.failure == nil || errors.As(f.failure, &old) && err.Least < old.Least {
			f.failure = err
		}
		return nil, tight, nil
	}
	_, cuts := c.divide(c.parts)
	if p, err = newPlan(f.subscripts, path, t, cuts); err != nil { // too large to be addressed
		if f.failure == nil {
			f.failure = err
		}
		return nil, tight, nil
	}
	if f.best == nil || f.better(p, f.best) {
		f.best = p
	}
	return p, tight, nil
}

// better orders plans by the objective, then by slices, then by memory.
func (f *planFinder) better(a, b *Plan) bool {
	of := func(p *Plan) score { return f.objective.score(p.cost.Operations, float64(p.cost.Largest)) }
	return cmp.Or(of(a).compare(of(b)), cmp.Compare(a.Slices(), b.Slices()), cmp.Compare(a.cost.Peak, b.cost.Peak)) < 0
}
