package engine_test

import (
	"errors"
	"fmt"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/ref"
)

// Views share the elements of the tensor they were made from.
func ExampleTensor_Slice() {
	a, _ := engine.FromSlice([]int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, 3, 4)
	backwards, _ := a.Slice(1, 3, 2, -2)  // columns 3 and 1
	turned, _ := backwards.Permute(1, 0)  // 2×3
	diagonal, _ := a.Slice(1, 0, 3, 1)    // the left 3×3 block …
	diagonal, _ = diagonal.Diagonal(0, 1) // … and its diagonal
	e := ref.New()
	for _, v := range []*engine.Tensor{turned, diagonal} {
		data, _ := engine.Download[int32](e, v)
		fmt.Println(v.Shape(), data)
	}
	// Output:
	// [2 3] [3 7 11 1 5 9]
	// [3] [0 5 10]
}

// Errors name the operation, the argument, the axis, and what would fit.
func ExampleShapeError() {
	a, _ := engine.FromSlice(make([]float64, 6), 2, 3)
	b, _ := engine.FromSlice(make([]float64, 8), 2, 4)
	_, err := engine.Apply(ref.New(), engine.Add{}, a, b)
	var s *engine.ShapeError
	fmt.Println(errors.As(err, &s), s.Axis)
	fmt.Println(err)
	// Output:
	// true 1
	// engine: Add: input 1, axis 1: extent 4 differs from 3 of input 0: shapes are never broadcast implicitly
}

func ExampleUpload() {
	var e engine.Execution = ref.New() // or any other engine
	a, err := engine.Upload(e, []float32{1, 2, 3, 4, 5, 6}, 2, 3)
	if err != nil {
		fmt.Println(err)
		return
	}
	columns, _ := engine.Sum(e, a, 0)
	data, _ := engine.Download[float32](e, columns)
	fmt.Println(data)
	view, _ := a.Reshape(6)
	fmt.Println(e.Release(a))
	fmt.Println(e.Release(view), e.Release(a), e.Release(columns))
	// Output:
	// [5 7 9]
	// engine: views of the tensor are still live: release them first (Release on tensor float32[2 3])
	// <nil> <nil> <nil>
}
