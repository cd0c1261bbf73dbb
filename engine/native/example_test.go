package native_test

import (
	"fmt"

	"github.com/hataori/hataori-go/engine/native"
)

// The product of a 2×3 and a 3×2 matrix; the second is given by columns.
func ExampleGemm() {
	a := native.Mat[float64]{Data: []float64{1, 2, 3, 4, 5, 6}, RowStride: 3, ColStride: 1}
	b := native.Mat[float64]{Data: []float64{1, 0, 1, 0, 1, 1}, RowStride: 3, ColStride: 1}.T()
	out := make([]float64, 4)
	c := native.Mat[float64]{Data: out, RowStride: 2, ColStride: 1}
	var ws native.Workspace
	if err := native.Gemm(native.Auto, &ws, 2, 2, 3, 1, a, b, 0, c); err != nil {
		fmt.Println(err)
	}
	fmt.Println(out)
	// Output: [4 5 10 11]
}
