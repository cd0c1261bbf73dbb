package einsum_test

import (
	"context"
	"fmt"
	"math"

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

// A plan whose slices fit a bound on memory, found in one call, sent to another
// rank, and printed.
func ExampleFindPlan() {
	s, _ := einsum.Parse("ab,bc,cd->ad")
	shapes := [][]int{{64, 8}, {8, 64}, {64, 64}}
	plan, err := einsum.FindPlan(context.Background(), s, shapes, einsum.PlanOptions{Limits: einsum.Limits{Largest: 1024}})
	if err != nil {
		fmt.Println(err)
		return
	}
	wire, _ := plan.MarshalBinary()
	there := new(einsum.Plan)
	if err := there.UnmarshalBinary(wire); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(there.Details())

	_, err = einsum.FindPlan(context.Background(), s, shapes, einsum.PlanOptions{Limits: einsum.Limits{Peak: 1}})
	fmt.Println(err)
	// Output:
	// 3 operands, 4 labels, output [64 64]
	// 4 slices of 8192 multiply-adds: a (64) in 4
	// 6.554e+04 multiply-adds (10^4.82), 3.277e+04 of them shared
	// largest intermediate 1024 elements (2^10.00), peak 512
	// step 0: bc,cd->bd  3.277e+04 multiply-adds, 512 elements, shared
	// step 1: ab,bd->ad  8192 multiply-adds, 1024 elements
	// einsum: no slices are small enough: the peak of a slice cannot be brought down to 1 elements; 16 is the least that cutting reaches: raise the limit to that, or take another path
}

// The product of 100 matrices whose entries are 10⁶: no float64 holds it, a number
// and an exponent do.
func ExamplePrepared_RunScaled() {
	const n = 100
	inputs, shapes := make([][]einsum.Label, n), make([][]int, n)
	operands, specs := make([]*engine.Tensor, n), make([]engine.Spec, n)
	for k := range n {
		inputs[k], shapes[k] = []einsum.Label{einsum.Label(k), einsum.Label(k + 1)}, []int{2, 2}
		operands[k], _ = engine.FromSlice([]float64{1e6, 1e6, 1e6, 1e6}, 2, 2)
		specs[k] = operands[k].Spec()
	}
	s, _ := einsum.NewSubscripts(inputs, []einsum.Label{0, n})
	plan, err := einsum.FindPlan(context.Background(), s, shapes, einsum.PlanOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	e := ref.New()
	defer e.Close()
	ready, err := plan.Prepare(e, specs...)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer ready.Close()
	if err := ready.Load(operands...); err != nil {
		fmt.Println(err)
		return
	}
	entries := make([]float64, 4)
	out, _ := engine.FromSlice(entries, 2, 2)
	exponent, err := ready.RunScaled(out, 0)
	fmt.Printf("10^%.6f %v\n", math.Log10(entries[0])+float64(exponent)*math.Log10(2), err)
	fmt.Printf("10^%.6f\n", 600+99*math.Log10(2))
	// Output:
	// 10^629.801970 <nil>
	// 10^629.801970
}

// A label that the output repeats fills a diagonal.
func ExampleParse() {
	s, _ := einsum.Parse("i->ii")
	plan, _ := einsum.NewPlan(s, [][]int{{2}}, nil)
	e := ref.New()
	defer e.Close()
	v, _ := engine.FromSlice([]float64{3, 4}, 2)
	out, _ := engine.FromSlice(make([]float64, 4), 2, 2)
	ready, err := plan.Prepare(e, v.Spec())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer ready.Close()
	_ = ready.Load(v)
	_ = ready.Run(out, 0)
	fmt.Println(engine.Data[float64](out))
	// Output: [3 0 0 4] <nil>
}

// One contraction in one call: the columns of a matrix scaled by a vector.
func ExampleContract() {
	e := ref.New()
	defer e.Close()
	u, _ := engine.FromSlice([]float64{1, 2, 3, 4}, 2, 2)
	s, _ := engine.FromSlice([]float64{10, 100}, 2)
	scaled, err := einsum.Contract(e, "ij,j->ij", u, s)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(engine.Data[float64](scaled))
	fmt.Println(e.Release(scaled))
	// Output:
	// [10 200 30 400] <nil>
	// <nil>
}

// A network of any size: the norm of a matrix product state of 4 sites, bonds of 8
// and 2 physical values, with a label for each bond.
func ExampleNewSubscripts() {
	const sites, bond, physical = 4, 8, 2
	count := 0
	fresh := func() einsum.Label { count++; return einsum.Symbol(count - 1) }
	var inputs [][]einsum.Label
	var shapes [][]int
	ketLeft, braLeft := fresh(), fresh() // of length 1, at the edge
	left := 1
	for i := range sites {
		right := bond
		if i == sites-1 {
			right = 1
		}
		ketRight, braRight, p := fresh(), fresh(), fresh()
		inputs = append(inputs, []einsum.Label{ketLeft, p, ketRight}, []einsum.Label{braLeft, p, braRight})
		shapes = append(shapes, []int{left, physical, right}, []int{left, physical, right})
		ketLeft, braLeft, left = ketRight, braRight, right
	}
	s, err := einsum.NewSubscripts(inputs, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, err := einsum.FindPlan(context.Background(), s, shapes, einsum.PlanOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s)
	fmt.Println(plan)
	// Output:
	// aec,bed,chf,dhg,fki,gkj,inl,jnm->
	// 8 operands, 14 labels, output []
	// 1296 multiply-adds (10^3.11), 0 of them shared
	// largest intermediate 32 elements (2^5.00), peak 96
}
