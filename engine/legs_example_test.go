package engine_test

import (
	"fmt"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/ref"
)

// A tensor of three legs becomes a matrix of legs (0, 2) by leg 1, and a tensor
// again; then a matrix is applied to its leg 1, which shrinks to extent 1.
func ExampleFuseAxes() {
	e := ref.New()
	defer e.Close()
	a, _ := engine.FromSlice([]float64{1, 2, 3, 4, 5, 6, 7, 8}, 2, 2, 2)
	order, counts := engine.AxesOf(0, 2, 1), engine.ListOf(2, 1)

	matrix, err := engine.Apply(e, engine.FuseAxes{Order: order, Counts: counts}, a, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	again, err := engine.Apply(e, engine.SplitAxes{Shape: a.Shape(), Order: order, Counts: counts}, matrix, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	m, _ := engine.FromSlice([]float64{1, 10}, 1, 2)
	applied, err := engine.Apply(e, engine.ApplyMatrix{Axis: 1}, again, m)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range []*engine.Tensor{matrix, again, applied} {
		data, err := engine.Data[float64](t)
		fmt.Println(t.Shape(), data, err)
	}
	// Output:
	// [4 2] [1 3 2 4 5 7 6 8] <nil>
	// [2 2 2] [1 2 3 4 5 6 7 8] <nil>
	// [2 1 2] [31 42 75 86] <nil>
}

// The two blocks of a block-diagonal matrix times those of another, each where it
// lies in its buffer. A job that does not fit is named.
func ExampleGroupedDot() {
	e := ref.New()
	defer e.Close()
	a, _ := engine.FromSlice([]float64{2, 1, 2, 3, 4}, 5) // a 1×1 block, then a 2×2 one
	b, _ := engine.FromSlice([]float64{5, 1, 0, 1, 1}, 5)
	c, _ := engine.FromSlice(make([]float64, 5), 5)
	rows := func(offset, columns int) engine.Block { return engine.Block{Offset: offset, Row: columns, Col: 1} }

	small := engine.Job{M: 1, N: 1, K: 1, A: rows(0, 1), B: rows(0, 1), C: rows(0, 1)}
	large := engine.Job{M: 2, N: 2, K: 2, A: rows(1, 2), B: rows(1, 2), C: rows(1, 2)}
	err := engine.ApplyInto(e, engine.GroupedDot{Jobs: engine.JobsOf(small, large), Elements: 5}, c, a, b)
	fmt.Println(err)
	fmt.Println(engine.Data[float64](c))

	large.C.Offset = 0
	fmt.Println(engine.ApplyInto(e, engine.GroupedDot{Jobs: engine.JobsOf(small, large), Elements: 5}, c, a, b))
	// Output:
	// <nil>
	// [10 3 2 7 4] <nil>
	// engine: GroupedDot: job 1, block of output 0: it shares elements with that of job 0: put one of them into another operation, with Beta 1 to add them up
}
