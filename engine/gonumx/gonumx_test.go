package gonumx_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/gonumx"
	"github.com/hataori/hataori-go/engine/ref"
	"gonum.org/v1/gonum/mat"
)

func numbers(t *testing.T, extents ...int) *engine.Tensor {
	t.Helper()
	x, err := engine.Arange(ref.New(), engine.Float64, extents[0]*extents[1])
	if err != nil {
		t.Fatal(err)
	}
	if x, err = x.Reshape(extents...); err != nil {
		t.Fatal(err)
	}
	return x
}

func TestDenseShares(t *testing.T) {
	x := numbers(t, 4, 6)
	block, err := x.Slice(1, 2, 3, 1) // columns 2, 3, 4
	if err != nil {
		t.Fatal(err)
	}
	rows, err := block.Slice(0, 0, 2, 2) // rows 0, 2
	if err != nil {
		t.Fatal(err)
	}
	m, err := gonumx.Dense(rows)
	if err != nil {
		t.Fatal(err)
	}
	if !mat.Equal(m, mat.NewDense(2, 3, []float64{2, 3, 4, 14, 15, 16})) {
		t.Fatalf("matrix %v", mat.Formatted(m))
	}
	m.Set(1, 0, -1)
	back, err := gonumx.FromDense(m)
	if err != nil {
		t.Fatal(err)
	}
	for _, y := range []*engine.Tensor{rows, back} {
		v, err := engine.Download[float64](ref.New(), y)
		if err != nil || fmt.Sprint(v) != "[2 3 4 -1 15 16]" {
			t.Fatalf("%v %v", v, err)
		}
	}
}

func TestComplex(t *testing.T) {
	c := mat.NewCDense(2, 2, []complex128{1, 2i, 3, 4i})
	x, err := gonumx.FromCDense(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := engine.ScaleInto(ref.New(), x, x, 1i); err != nil {
		t.Fatal(err)
	}
	d, err := gonumx.CDense(x)
	if err != nil || c.At(1, 1) != -4 || d.At(0, 0) != 1i {
		t.Fatalf("%v %v %v", c.At(1, 1), d.At(0, 0), err)
	}
}

func TestRefused(t *testing.T) {
	x := numbers(t, 4, 6)
	turned, _ := x.Permute(1, 0)
	back, _ := x.Slice(0, 3, 4, -1)
	flat, _ := x.Reshape(24)
	for what, y := range map[string]*engine.Tensor{"columns apart": turned, "backwards": back, "rank 1": flat} {
		var e *engine.ShapeError
		if _, err := gonumx.Dense(y); !errors.As(err, &e) {
			t.Errorf("%s: %v", what, err)
		}
	}
	var e *engine.DTypeError
	if _, err := gonumx.CDense(x); !errors.As(err, &e) {
		t.Errorf("dtype: %v", err)
	}
	var a *engine.ArgError
	if _, err := gonumx.Dense(nil); !errors.As(err, &a) {
		t.Errorf("nil: %v", err)
	}
	empty, _ := engine.FromSlice([]float64{}, 0, 3)
	if m, err := gonumx.Dense(empty); err != nil || !m.IsEmpty() {
		t.Errorf("empty: %v", err)
	}
	if y, err := gonumx.FromDense(new(mat.Dense)); err != nil || y.Elements() != 0 {
		t.Errorf("empty matrix: %v", err)
	}
}

func ExampleDense() {
	a, _ := engine.FromSlice([]float64{2, 1, 1, 3}, 2, 2)
	m, _ := gonumx.Dense(a)
	fmt.Printf("%.2f\n", mat.Det(m))
	// Output: 5.00
}
