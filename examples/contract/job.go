package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/einsum"
)

// job is a problem planned, cut into slices and filled with data. Every rank
// makes the same one; its lanes share it.
type job[T number] struct {
	*problem[T]
	plan     *einsum.Plan
	operands []*engine.Tensor
}

// mostSlices bounds the items, each of which has an output at the root.
const mostSlices = 1 << 24

// plan cuts the problem's path or, where it has none, finds path and cuts. The
// plan depends on the problem and the flags alone, never on ranks and lanes, and so
// do the bits of the result.
func (p *problem[T]) plan(ctx context.Context, o *options) (*einsum.Plan, error) {
	each := engine.DTypeOf[T]().Size()
	limits := einsum.Limits{Largest: max(1, int(o.memory)/each), Slices: o.slices}
	var plan *einsum.Plan
	var err error
	if p.path == nil {
		plan, err = einsum.FindPlan(ctx, p.subscripts, p.shapes, einsum.PlanOptions{Limits: limits})
	} else if plan, err = einsum.NewPlan(p.subscripts, p.shapes, p.path); err == nil {
		plan, err = plan.SliceTo(ctx, limits)
	}
	if limit := (*einsum.LimitError)(nil); errors.As(err, &limit) && limit.Least <= math.MaxInt/each {
		least := size(limit.Least * each)
		return nil, fmt.Errorf("%s: --memory %v: the largest intermediate of a slice cannot be cut to that: give --memory %v, or another path", p.name, o.memory, least)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.name, err)
	}
	if n := plan.Slices(); n > mostSlices {
		return nil, fmt.Errorf("%s: %d slices, at most %d are possible: lower --slices (%d), or raise --memory (%v)", p.name, n, mostSlices, o.slices, o.memory)
	}
	need := dataBytes(plan, p.subscripts.Operands(), each)
	if need > float64(o.data) {
		return nil, fmt.Errorf("%s: operands and output take %.3g bytes, --data allows %v; raise it if the machine has the memory", p.name, need, o.data)
	}
	if parts := float64(plan.Slices()) * elements(plan.SliceShape()) * float64(each); !o.keeps() && need+parts > float64(o.data) {
		return nil, fmt.Errorf("%s: the outputs of %d slices take %.3g bytes beside the %.3g of operands and output, --data allows %v; lower --slices (%d), "+
			"let --out keep them in an HDF5 file, or raise --data if the machine has the memory", p.name, plan.Slices(), parts, need, o.data, o.slices)
	}
	return plan, nil
}

// newJob makes the operands of a planned problem.
func newJob[T number](p *problem[T], plan *einsum.Plan) (*job[T], error) {
	j := &job[T]{problem: p, plan: plan, operands: p.tensors}
	if p.tensors != nil {
		return j, nil
	}
	for k, shape := range p.shapes {
		t, err := engine.FromSlice(p.operand(k), shape...)
		if err != nil {
			return nil, err
		}
		j.operands = append(j.operands, t)
	}
	return j, nil
}

func dataBytes(plan *einsum.Plan, operands, each int) float64 {
	total := elements(plan.OutputShape())
	for k := range operands {
		total += elements(plan.OperandShape(k))
	}
	return total * float64(each)
}

func elements(shape []int) float64 {
	n := 1.0
	for _, extent := range shape {
		n *= float64(extent)
	}
	return n
}

// items are the numbers of the slices.
func (j *job[T]) items() []int {
	list := make([]int, j.plan.Slices())
	for i := range list {
		list[i] = i
	}
	return list
}

// contractor is what a lane works with: an engine and, on it, the plan prepared
// for all the slices that come. It owns both.
type contractor[T number] struct {
	engine.Execution
	prepared *einsum.Prepared
	out      *engine.Tensor
	values   []T // what out shows
}

func (j *job[T]) newContractor(e engine.Execution) (*contractor[T], error) {
	specs := make([]engine.Spec, len(j.operands))
	for k, t := range j.operands {
		specs[k] = t.Spec()
	}
	prepared, err := j.plan.Prepare(e, specs...)
	if err != nil {
		return nil, err
	}
	c := &contractor[T]{Execution: e, prepared: prepared}
	if err := prepared.Load(j.operands...); err != nil {
		return nil, err
	}
	shape := j.plan.SliceShape()
	c.values = make([]T, int(elements(shape)))
	c.out, err = engine.FromSlice(c.values, shape...)
	return c, err
}

// Close ends the prepared plan and the engine.
func (c *contractor[T]) Close() error {
	err := c.prepared.Close()
	if closing := c.Execution.Close(); err == nil {
		err = closing
	}
	return err
}

// contract is the work of one item: the output of one slice.
func (c *contractor[T]) contract(slice int) ([]T, error) {
	if err := c.prepared.Run(c.out, slice); err != nil {
		return nil, err
	}
	return slices.Clone(c.values), nil // the next slice overwrites them
}

// assemble puts the outputs of the slices together, in the order of their
// numbers.
func (j *job[T]) assemble(parts [][]T) ([]T, error) {
	output := make([]T, int(elements(j.plan.OutputShape())))
	for i, part := range parts {
		if err := einsum.AddSlice(j.plan, output, i, part); err != nil {
			return nil, err
		}
	}
	return output, nil
}

// verify compares the output with the golden entry or with the problem's own
// check.
func (j *job[T]) verify(r *report, golden *goldenEntry, output []T) (string, error) {
	for _, x := range output {
		if s := squared(x); math.IsNaN(s) || math.IsInf(s, 0) {
			return "", fmt.Errorf("%s: the output holds a number that is not finite", j.name)
		}
	}
	switch {
	case golden != nil:
		return compare(golden, r, output)
	case j.check != nil:
		return j.check(output)
	}
	if j.tensors == nil {
		return "none: the operands' values are made up; give --golden to compare with a reference, \"operands\" in the file for your own", nil
	}
	return "none: give --golden to compare with a reference", nil
}
