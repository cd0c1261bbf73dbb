package einsum_test

import (
	"fmt"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/einsum"
	"github.com/hataori/hataori-go/engine/ref"
)

// A product of three matrices, planned once and run on an engine. The
// reference engine stands for any other.
func Example() {
	s, _ := einsum.Parse("ij,jk,kl->il")
	shapes := [][]int{{2, 3}, {3, 2}, {2, 2}}
	path, _ := einsum.Greedy(s, shapes, einsum.GreedyOptions{})
	plan, err := einsum.NewPlan(s, shapes, path)
	if err != nil {
		fmt.Println(err)
		return
	}

	e := ref.New()
	defer e.Close()
	a, _ := engine.FromSlice([]float64{1, 2, 3, 4, 5, 6}, 2, 3)
	b, _ := engine.FromSlice([]float64{1, 0, 0, 1, 1, 1}, 3, 2)
	c, _ := engine.FromSlice([]float64{1, 1, 0, 1}, 2, 2)
	out, _ := engine.FromSlice(make([]float64, 4), 2, 2)

	ready, err := plan.Prepare(e, a.Spec(), b.Spec(), c.Spec())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer ready.Close()
	if err := ready.Load(a, b, c); err != nil {
		fmt.Println(err)
		return
	}
	if err := ready.Run(out, 0); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(engine.Data[float64](out))
	// Output: [4 9 10 21] <nil>
}

// Slices are contractions of the same form that together give the whole: here
// the trace of a product, its sum cut in two.
func ExamplePlan_Slice() {
	s, _ := einsum.Parse("ij,ji->")
	whole, _ := einsum.NewPlan(s, [][]int{{2, 4}, {4, 2}}, einsum.Path{{0, 1}})
	plan, err := whole.Slice(einsum.Cut{Label: 'j', Parts: 2})
	if err != nil {
		fmt.Println(err)
		return
	}

	e := ref.New()
	defer e.Close()
	a, _ := engine.FromSlice([]float64{1, 2, 3, 4, 5, 6, 7, 8}, 2, 4)
	b, _ := engine.FromSlice([]float64{1, 0, 0, 1, 1, 0, 0, 1}, 4, 2)
	ready, err := plan.Prepare(e, a.Spec(), b.Spec())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer ready.Close()
	_ = ready.Load(a, b)

	sum := make([]float64, 1)
	for i := range plan.Slices() {
		part := make([]float64, 1)
		out, _ := engine.FromSlice(part)
		if err := ready.Run(out, i); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("slice", i, part[0])
		_ = einsum.AddSlice(plan, sum, i, part)
	}
	fmt.Println("trace", sum[0])
	// Output:
	// slice 0 7
	// slice 1 11
	// trace 18
}

// What does not fit is told with its place and a cure.
func ExampleNewPlan() {
	s, _ := einsum.Parse("ij,jk->ik")
	_, err := einsum.NewPlan(s, [][]int{{2, 3}, {1, 4}}, einsum.Path{{0, 1}})
	fmt.Println(err)
	_, err = einsum.NewPlan(s, [][]int{{2, 3}, {3, 4}}, einsum.Path{{0, 2}})
	fmt.Println(err)
	// Output:
	// einsum: shapes do not fit the labels: operand 1, axis 0: label j has length 1 here but 3 in operand 0, axis 1; axes of length 1 are not stretched; give that axis a label of its own
	// einsum: wrong path: step 0: position 2 is out of range; 2 tensors are on the list
}
