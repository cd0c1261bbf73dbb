package einsum

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/ref"
)

func floats(t *testing.T, data []float64, shape ...int) *engine.Tensor {
	t.Helper()
	x, err := engine.FromSlice(data, shape...)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// A rotation by φ applied n times is a rotation by nφ: a chain with a closed
// form, and its trace 2·cos(nφ).
func TestChainOfRotations(t *testing.T) {
	const n, phi = 25, 0.3
	c, s := math.Cos(phi), math.Sin(phi)
	inputs, shapes := make([][]Label, n), make([][]int, n)
	operands := make([]*engine.Tensor, n)
	for k := range operands {
		inputs[k], shapes[k] = []Label{Label(k), Label(k + 1)}, []int{2, 2}
		operands[k] = floats(t, []float64{c, -s, s, c}, 2, 2)
	}
	for _, closed := range []bool{false, true} {
		output := []Label{0, n}
		want := []float64{math.Cos(n * phi), -math.Sin(n * phi), math.Sin(n * phi), math.Cos(n * phi)}
		if closed {
			inputs[n-1][1], output, want = 0, nil, []float64{2 * math.Cos(n*phi)}
		}
		sub, err := NewSubscripts(inputs, output)
		if err != nil {
			t.Fatal(err)
		}
		path, err := Greedy(sub, shapes, GreedyOptions{Trials: 3})
		if err != nil {
			t.Fatal(err)
		}
		p, err := NewPlan(sub, shapes, path)
		if err != nil {
			t.Fatal(err)
		}
		for i, got := range contract[float64](t, ref.New(), p, operands) {
			if math.Abs(got-want[i]) > 1e-13 {
				t.Errorf("closed %v: element %d is %v, want %v", closed, i, got, want[i])
			}
		}
	}
}

func TestEmptyLabel(t *testing.T) {
	p := mustPlan(t, "ij,jk->ik", Path{{0, 1}}, []int{2, 0}, []int{0, 3})
	got := contract[float64](t, ref.New(), p, []*engine.Tensor{floats(t, nil, 2, 0), floats(t, nil, 0, 3)})
	if len(got) != 6 {
		t.Fatalf("%d elements", len(got))
	}
	for _, x := range got {
		if x != 0 {
			t.Errorf("an empty sum is %v", x)
		}
	}
}

func TestPreparedRefuses(t *testing.T) {
	e := ref.New()
	p := mustPlan(t, "ij,jk->ik", Path{{0, 1}}, []int{2, 3}, []int{3, 4})
	a, b := floats(t, make([]float64, 6), 2, 3), floats(t, make([]float64, 12), 3, 4)
	out := floats(t, make([]float64, 8), 2, 4)
	wantOperand := func(what string, err error) {
		t.Helper()
		if e := (*Error)(nil); !errors.As(err, &e) || !errors.Is(err, ErrOperand) {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := p.Prepare(e, a.Spec())
	wantOperand("one operand", err)
	_, err = p.Prepare(e, a.Spec(), a.Spec())
	wantOperand("another shape", err)
	_, err = p.Prepare(e, a.Spec(), engine.SpecOf(engine.Float32, 3, 4))
	wantOperand("two dtypes", err)
	if _, err = p.Prepare(e, engine.SpecOf(engine.Bool, 2, 3), engine.SpecOf(engine.Bool, 3, 4)); err == nil {
		t.Error("bool is multiplied")
	}

	r, err := p.Prepare(e, a.Spec(), b.Spec())
	if err != nil {
		t.Fatal(err)
	}
	wantOperand("not loaded", r.Run(out, 0))
	wantOperand("one operand loaded", r.Load(a))
	turned, err := b.Permute(1, 0)
	if err != nil {
		t.Fatal(err)
	}
	wantOperand("another layout", r.Load(a, turned))
	if err := r.Load(a, b); err != nil {
		t.Fatal(err)
	}
	wantOperand("output of another shape", r.Run(a, 0))
	if err := r.Run(out, 1); !errors.Is(err, ErrSlice) {
		t.Errorf("slice 1 of 1: %v", err)
	}
	if err := r.Run(out, 0); err != nil {
		t.Error(err)
	}
	if err := errors.Join(r.Close(), r.Close()); err != nil {
		t.Error(err)
	}
	wantOperand("closed", r.Run(out, 0))
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// An output in the memory of an operand is refused by name before anything is
// written, whichever step reads the operand, also one that was good before Load
// gave others. Neighbours in one buffer are no overlap.
func TestOutputOverOperandIsRefused(t *testing.T) {
	for _, text := range []string{"ij,jk,kl->il", "ij,jk,kl->ili"} { // the second fills the output with zeros first
		p := mustPlan(t, text, Path{{0, 1}, {0, 1}}, []int{2, 2}, []int{2, 2}, []int{2, 2})
		size := product(p.OutputShape())
		data := make([]float64, 12+size)
		for i := range data {
			data[i] = float64(i)
		}
		operands := []*engine.Tensor{floats(t, data[:4], 2, 2), floats(t, data[4:8], 2, 2), floats(t, data[8:12], 2, 2)}
		beside := floats(t, data[12:], p.OutputShape()...)
		apart := []*engine.Tensor{floats(t, make([]float64, 4), 2, 2), operands[1], operands[2]}
		r, err := p.Prepare(engines(t, false)["native1"](t), operands[0].Spec(), operands[1].Spec(), operands[2].Spec())
		if err != nil {
			t.Fatal(err)
		}
		run := map[string]func(*engine.Tensor) error{
			"Run":       func(out *engine.Tensor) error { return r.Run(out, 0) },
			"RunScaled": func(out *engine.Tensor) error { _, err := r.RunScaled(out, 0); return err },
		}
		for name, run := range run {
			refused := func(out *engine.Tensor, operand int) {
				t.Helper()
				before := slices.Clone(data)
				err := run(out)
				if e := (*Error)(nil); !errors.As(err, &e) || !errors.Is(err, ErrOperand) || e.Operand != operand {
					t.Errorf("%s, %s over operand %d: %v", text, name, operand, err)
				}
				if !slices.Equal(data, before) {
					t.Errorf("%s, %s over operand %d has written", text, name, operand)
				}
			}
			if err := r.Load(operands...); err != nil {
				t.Fatal(err)
			}
			for k := range operands {
				refused(floats(t, data[4*k+3-min(3*k, 3):][:size], p.OutputShape()...), k)
			}
			if err := run(beside); err != nil {
				t.Errorf("%s, %s beside the operands: %v", text, name, err)
			}
			// The same output, over an operand since then.
			over := floats(t, data[:size], p.OutputShape()...)
			if err := r.Load(apart[0], apart[0], apart[0]); err != nil {
				t.Fatal(err)
			}
			if err := run(over); err != nil {
				t.Errorf("%s, %s: %v", text, name, err)
			}
			if err := r.Load(operands...); err != nil {
				t.Fatal(err)
			}
			refused(over, 0)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Shared work is done again for other operands and not before.
func TestLoadAgain(t *testing.T) {
	p := mustPlan(t, "a,ab,bc->c", Path{{0, 1}, {0, 1}}, []int{2}, []int{2, 2}, []int{2, 4})
	p, err := p.Slice(Cut{'c', 4})
	if err != nil {
		t.Fatal(err)
	}
	if p.fixed == 0 {
		t.Fatal("nothing is shared")
	}
	m := floats(t, []float64{1, 2, 3, 4}, 2, 2)
	n := floats(t, []float64{1, 0, 1, 0, 0, 1, 1, 0}, 2, 4)
	first, second := floats(t, []float64{1, 0}, 2), floats(t, []float64{0, 1}, 2)
	r, err := p.Prepare(ref.New(), first.Spec(), m.Spec(), n.Spec())
	if err != nil {
		t.Fatal(err)
	}
	part := make([]float64, 1)
	out := floats(t, part, 1)
	for _, load := range []struct {
		v    *engine.Tensor
		want []float64
	}{{first, []float64{1, 2, 3, 0}}, {second, []float64{3, 4, 7, 0}}} {
		if err := r.Load(load.v, m, n); err != nil {
			t.Fatal(err)
		}
		for i, want := range load.want {
			if err := r.Run(out, i); err != nil || part[0] != want {
				t.Errorf("slice %d is %v, want %v (%v)", i, part[0], want, err)
			}
		}
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
