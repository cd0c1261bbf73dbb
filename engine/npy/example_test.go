package npy_test

import (
	"bytes"
	"fmt"
	"log"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/npy"
)

func Example() {
	a, err := engine.FromSlice([]float64{1, 2, 3, 4, 5, 6}, 2, 3)
	if err != nil {
		log.Fatal(err)
	}
	var file bytes.Buffer // or npy.WriteFile and npy.ReadFile
	if err := npy.Write(&file, a); err != nil {
		log.Fatal(err)
	}
	b, err := npy.Read(&file)
	if err != nil {
		log.Fatal(err)
	}
	elements, err := engine.Data[float64](b)
	fmt.Println(b.DType(), b.Shape(), elements, err)
	// Output: float64 [2 3] [1 2 3 4 5 6] <nil>
}
