package einsum

import (
	"cmp"
	"context"
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
	trees = trees[:min(o.refined(), len(trees))]
	if err := f.find(ctx, trees); err != nil {
		return nil, err
	}
	if f.best != nil {
		return f.best, nil
	}
	err = f.failure(ctx, trees)
	return nil, cmp.Or(interrupted(ctx), err)
}

// find keeps the best plan of those that trees lead to.
func (f *planFinder) find(ctx context.Context, trees []*tree) error {
	for _, t := range trees {
		p, tight, err := f.try(ctx, t, 0)
		if err != nil {
			return err
		}
		if !tight {
			continue
		}
		dear, _, err := f.try(ctx, t, f.limits.bound())
		if err == nil {
			err = cmp.Or(f.again(ctx, p, f.limits.bound()), f.again(ctx, dear, f.limits.bound()))
		}
		if err != nil {
			return err
		}
	}
	return f.again(ctx, f.best, 0)
}

// failure says why no tree led to a plan. The smallest limit is one that a tree
// meets which is tried whatever the limits are, or, if that is lower, one that a
// second search meets.
func (f *planFinder) failure(ctx context.Context, trees []*tree) error {
	var e *LimitError
	for _, c := range f.failed {
		// A peak is told by trees whose largest intermediates can be had.
		if x := c.failure(ctx); e == nil || x.What != e.What && x.What == "peak" || x.What == e.What && x.Least < e.Least {
			e = x
		}
	}
	if e == nil {
		return f.tooLarge
	}
	if f.limits.Largest > 0 && f.limits.Peak > 0 || f.least >= e.Least {
		return e
	}
	second := planFinder{subscripts: f.subscripts, network: f.network, limits: e.raise(f.limits, f.least), objective: f.objective, budget: f.budget}
	if err := second.find(ctx, trees); err == nil && second.best != nil {
		e.Least = f.least
	}
	return e
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

	// Why there is none.
	tooLarge error     // the last plan that could not be addressed
	failed   []*cutter // of trees that do not depend on the limits
	least    int       // largest intermediate or peak that another came to
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
// it had to be cut for.
func (f *planFinder) try(ctx context.Context, t *tree, bound float64) (p *Plan, tight bool, err error) {
	r := newRefiner(t, f.budget, bound, f.objective)
	r.refine(ctx)
	path := r.path()
	if t, err = newTree(f.network, path); err != nil {
		return nil, false, err
	}
	c := newCutter(f.subscripts, path, t, f.limits)
	tight = c.excess(c.memory(false)) > 1
	met := c.search(ctx)
	if err := interrupted(ctx); err != nil {
		return nil, false, err
	}
	if !met {
		came := c.nearest[0]
		if f.limits.Peak > 0 {
			came = c.nearest[1]
		}
		if f.least == 0 || came < f.least {
			f.least = came
		}
		if bound == 0 {
			f.failed = append(f.failed, c)
		}
		return nil, tight, nil
	}
	_, cuts := c.divide(c.parts)
	if p, err = newPlan(f.subscripts, path, t, cuts); err != nil {
		f.tooLarge = err
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
