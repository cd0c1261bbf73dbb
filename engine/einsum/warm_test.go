package einsum

import (
	"context"
	"testing"

	"github.com/hataori/hataori-go/engine"
)

// A warm run allocates nothing: of a plan without cuts, of every slice of one
// with cuts, with a diagonal in the output, into one output or several in turn.
func TestWarmRunAllocatesNothing(t *testing.T) {
	for _, text := range []string{"iab,jbc,kca,xx->kji", "iab,jbc,kca,xx->kjik"} {
		shapes := [][]int{{3, 20, 20}, {4, 20, 20}, {5, 20, 20}, {2, 2}}
		whole, err := FindPlan(context.Background(), mustParse(t, text), shapes, PlanOptions{})
		if err != nil {
			t.Fatal(err)
		}
		sliced, err := whole.Slice(Cut{'a', 4}, Cut{'k', 5})
		if err != nil {
			t.Fatal(err)
		}
		for name, open := range engines(t, false) {
			e := open(t)
			for _, plan := range []*Plan{whole, sliced} {
				if n := warmAllocations(t, e, plan); n != 0 {
					t.Errorf("%s in %d slices on %s: %v allocations", text, plan.Slices(), name, n)
				}
			}
		}
	}
}

func warmAllocations(t *testing.T, e engine.Execution, plan *Plan) float64 {
	t.Helper()
	operands := plan.Subscripts().Operands()
	tensors, specs := make([]*engine.Tensor, operands), make([]engine.Spec, operands)
	for k := range tensors {
		shape := plan.OperandShape(k)
		tensors[k] = floats(t, make([]float64, product(shape)), shape...)
		specs[k] = tensors[k].Spec()
	}
	ready, err := plan.Prepare(e, specs...)
	if err != nil {
		t.Fatal(err)
	}
	defer ready.Close()
	if err := ready.Load(tensors...); err != nil {
		t.Fatal(err)
	}
	var outs [2]*engine.Tensor
	for i := range outs {
		outs[i] = floats(t, make([]float64, product(plan.SliceShape())), plan.SliceShape()...)
	}
	next := 0
	return testing.AllocsPerRun(100, func() {
		if err := ready.Run(outs[next%2], next%plan.Slices()); err != nil {
			t.Fatal(err)
		}
		next++
	})
}
