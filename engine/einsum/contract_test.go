package einsum

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/cpu"
)

// TestContract contracts in one call, whole and in slices, whose sums are exact.
func TestContract(t *testing.T) {
	e, err := cpu.Serial(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	contractAs[int32](t, e)
	contractAs[int64](t, e)
	contractAs[float32](t, e)
	contractAs[float64](t, e)
	contractAs[complex64](t, e)
	contractAs[complex128](t, e)
	if live := e.Buffers().LiveBytes; live != 0 {
		t.Errorf("%d bytes are left in the engine", live)
	}
}

func contractAs[T int32 | int64 | float32 | float64 | complex64 | complex128](t *testing.T, e *cpu.Engine) {
	t.Helper()
	a := hold(t, []T{1, 2, 3, 4, 5, 6, 7, 8}, 2, 4)
	b := hold(t, []T{1, 0, 0, 1, 2, 0, 0, 2}, 4, 2)
	want := []T{1 + 6, 2 + 8, 5 + 14, 6 + 16} // (1+2·3, 2+2·4), (5+2·7, 6+2·8)
	check := func(out *engine.Tensor, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := engine.Data[T](out); err != nil || !slices.Equal(got, want) {
			t.Errorf("%v is %v, want %v: %v", out.Spec(), got, want, err)
		}
		if err := e.Release(out); err != nil {
			t.Error(err)
		}
	}
	check(Contract(e, "ij,jk->ik", a, b))
	s, _ := Parse("ij,jk->ik")
	plan, err := FindPlan(context.Background(), s, [][]int{{2, 4}, {4, 2}}, PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, cuts := range [][]Cut{{{'i', 2}}, {{'j', 4}}, {{'j', 2}, {'k', 2}}} {
		sliced, err := plan.Slice(cuts...)
		if err != nil {
			t.Fatal(err)
		}
		check(sliced.Contract(e, a, b))
	}
}

func hold[T engine.Element](t *testing.T, data []T, extents ...int) *engine.Tensor {
	t.Helper()
	x, err := engine.FromSlice(data, extents...)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestContractRefuses: what does not fit is named, and nothing stays in the engine.
func TestContractRefuses(t *testing.T) {
	e, err := cpu.Serial(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	a, c := hold(t, []float64{1, 2, 3, 4, 5, 6}, 2, 3), hold(t, []complex128{1, 2, 3}, 3)
	truths := hold(t, []bool{true, false}, 2)
	for _, x := range []struct {
		text     string
		operands []*engine.Tensor
		kind     error
	}{
		{"ij,jk", []*engine.Tensor{a, a}, ErrSyntax},
		{"ij,jk->ik", []*engine.Tensor{a, a}, ErrShape},
		{"ij,jk->ik", []*engine.Tensor{a}, ErrShape},
		{"ij->i", []*engine.Tensor{nil}, ErrOperand},
		{"ij,j->i", []*engine.Tensor{a, c}, ErrOperand},
	} {
		out, err := Contract(e, x.text, x.operands...)
		if out != nil || !errors.Is(err, x.kind) {
			t.Errorf("%s of %v: %v, %v, want %v", x.text, x.operands, out, err, x.kind)
		}
	}
	if _, err := Contract(e, "i,i->i", truths, truths); err == nil {
		t.Error("truths are multiplied")
	}
	if _, err := new(Plan).Contract(e, a); !errors.Is(err, ErrOperand) {
		t.Errorf("no plan: %v", err)
	}
	if live := e.Buffers().LiveBytes; live != 0 {
		t.Errorf("%d bytes are left in the engine", live)
	}
}
