package einsum_test

import (
	"testing"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/cpu"
	"github.com/hataori/hataori-go/engine/einsum"
)

// A warm run of a plan without cuts allocates nothing.
func TestWarmRunAllocatesNothing(t *testing.T) {
	s, err := einsum.Parse("iab,jbc,kca,xx->kji")
	if err != nil {
		t.Fatal(err)
	}
	shapes := [][]int{{3, 20, 20}, {4, 20, 20}, {5, 20, 20}, {2, 2}}
	path, err := einsum.Greedy(s, shapes, einsum.GreedyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := einsum.NewPlan(s, shapes, path)
	if err != nil {
		t.Fatal(err)
	}
	e, err := cpu.Serial(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	tensors, specs := make([]*engine.Tensor, len(shapes)), make([]engine.Spec, len(shapes))
	for k, shape := range shapes {
		n := 1
		for _, extent := range shape {
			n *= extent
		}
		if tensors[k], err = engine.FromSlice(make([]float64, n), shape...); err != nil {
			t.Fatal(err)
		}
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
	out, err := engine.FromSlice(make([]float64, 60), 5, 4, 3)
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() {
		if err := ready.Run(out, 0); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
