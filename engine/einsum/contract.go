package einsum

import (
	"context"
	"errors"
	"fmt"

	"github.com/hataori/hataori-go/engine"
)

// Contract contracts the operands as subscripts in the form of [Parse] say, along a
// path that FindPlan finds, into a new compact tensor that e owns: give it back
// with Release.
//
//	c, err := einsum.Contract(e, "ij,jk->ik", a, b)
//
// It plans and prepares for this one call; what is contracted more than once is
// planned once ([FindPlan], whose search a context can end) and prepared once per
// engine ([Plan.Prepare]). Errors are
// an *[Error], or those of the engine.
func Contract(e engine.Execution, subscripts string, operands ...*engine.Tensor) (*engine.Tensor, error) {
	s, err := Parse(subscripts)
	if err != nil {
		return nil, err
	}
	shapes := make([][]int, len(operands))
	for k, t := range operands {
		if t == nil {
			return nil, wrongOperand(ErrOperand, k, None, "there is no tensor")
		}
		shapes[k] = t.Shape().Ints()
	}
	p, err := FindPlan(context.Background(), s, shapes, PlanOptions{})
	if err != nil {
		return nil, err
	}
	return p.Contract(e, operands...)
}

// Contract contracts the operands, all slices one after the other, into a new
// compact tensor of p.OutputShape() that e owns: give it back with Release. It
// prepares the plan for this one call. Errors are an *[Error], or those of the engine.
func (p *Plan) Contract(e engine.Execution, operands ...*engine.Tensor) (out *engine.Tensor, err error) {
	specs := make([]engine.Spec, len(operands))
	for k, t := range operands {
		if t == nil {
			return nil, wrongOperand(ErrOperand, k, None, "there is no tensor")
		}
		specs[k] = t.Spec()
	}
	r, err := p.Prepare(e, specs...)
	if err != nil {
		return nil, err
	}
	defer func() {
		if closing := r.Close(); closing != nil {
			err = errors.Join(err, closing)
		}
	}()
	if err := r.Load(operands...); err != nil {
		return nil, err
	}
	if p.Slices() == 1 {
		return r.slice(0)
	}
	switch r.dtype {
	case engine.Int32:
		return whole[int32](r)
	case engine.Int64:
		return whole[int64](r)
	case engine.Float32:
		return whole[float32](r)
	case engine.Float64:
		return whole[float64](r)
	case engine.Complex64:
		return whole[complex64](r)
	default: // the engine bound it: it is complex128
		return whole[complex128](r)
	}
}

// slice is the output of slice i in a new tensor.
func (r *Prepared) slice(i int) (*engine.Tensor, error) {
	out, err := r.engine.Alloc(r.out)
	if err != nil {
		return nil, fmt.Errorf("einsum: memory for the output: %w", err)
	}
	if err := r.Run(out, i); err != nil {
		return nil, errors.Join(err, r.engine.Release(out))
	}
	return out, nil
}

// whole puts the outputs of all slices together in a new tensor.
func whole[T int32 | int64 | float32 | float64 | complex64 | complex128](r *Prepared) (*engine.Tensor, error) {
	sum := make([]T, product(r.plan.OutputShape()))
	part, err := r.engine.Alloc(r.out)
	if err != nil {
		return nil, fmt.Errorf("einsum: memory for the output of a slice: %w", err)
	}
	for i := range r.plan.Slices() {
		if err = r.Run(part, i); err != nil {
			break
		}
		var values []T
		if values, err = engine.Download[T](r.engine, part); err != nil {
			break
		}
		if err = AddSlice(r.plan, sum, i, values); err != nil {
			break
		}
	}
	if err := errors.Join(err, r.engine.Release(part)); err != nil {
		return nil, err
	}
	return engine.Upload(r.engine, sum, r.plan.OutputShape()...)
}
