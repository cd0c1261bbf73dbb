package einsum

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/cpu"
)

// A plan is shared by goroutines that prepare, run, cut, send and print it at the same
// time, and stays what it was, whatever becomes of what it was made from and of what
// it has given out.
func TestPlanIsShared(t *testing.T) {
	rng := rand.New(rand.NewPCG(91, 92))
	whole := bushy(t, 32, 40)
	sliced, err := whole.Slice(Cut{Label(16), 4})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []*Plan{whole, sliced} {
		wire, text := mustMarshal(t, p), p.Details()
		operands := fewNumbers[float64](t, rng, p)
		want := contract[float64](t, engines(t, false)["native1"](t), p, operands)
		var all sync.WaitGroup
		for width := range 4 {
			all.Go(func() {
				pool, err := cpu.NewPool(cpu.PoolOptions{Workers: 1 + width%2})
				if err != nil {
					t.Error(err)
					return
				}
				e, err := cpu.New(pool, cpu.Options{})
				if err != nil {
					t.Error(err)
					return
				}
				if got := lane(t, e, p, operands); !slices.Equal(got, want) {
					t.Error("another lane, other bits")
				}
				if _, err := p.SliceTo(t.Context(), Limits{Slices: 8}); err != nil {
					t.Error(err)
				}
				if b, err := p.MarshalBinary(); err != nil || !bytes.Equal(b, wire) || p.Details() != text {
					t.Errorf("the plan has changed: %v", err)
				}
				if err := e.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}

	path, shapes := Path{{0, 1}, {0, 1}}, [][]int{{2, 3}, {3, 5}, {5, 7}}
	s := mustParse(t, "ij,jk,kl->il")
	p, err := NewPlan(s, shapes, path, Cut{'l', 7})
	if err != nil {
		t.Fatal(err)
	}
	wire := mustMarshal(t, p)
	path[0], shapes[0][0] = [2]int{9, 9}, 9
	for _, list := range [][]int{p.OperandShape(0), p.OutputShape(), p.SliceShape()} {
		list[0] = 9
	}
	p.Path()[0], p.Cuts()[0], p.Steps()[0].Result[0] = [2]int{9, 9}, Cut{}, 'z'
	s.Input(0)[0], s.Output()[0], p.Subscripts().Input(0)[0] = 'z', 'z', 'z'
	if !bytes.Equal(mustMarshal(t, p), wire) || p.OutputShape()[0] != 2 {
		t.Error("the plan changes with what was given or handed out")
	}
}

// lane is contract for goroutines, which must not end the test.
func lane(t *testing.T, e engine.Execution, p *Plan, operands []*engine.Tensor) []float64 {
	specs := make([]engine.Spec, len(operands))
	for k, x := range operands {
		specs[k] = x.Spec()
	}
	r, err := p.Prepare(e, specs...)
	if err != nil {
		t.Error(err)
		return nil
	}
	whole, part := make([]float64, product(p.OutputShape())), make([]float64, product(p.SliceShape()))
	out, err := engine.FromSlice(part, p.SliceShape()...)
	if err == nil {
		err = r.Load(operands...)
	}
	for i := 0; err == nil && i < p.Slices(); i++ {
		if err = r.Run(out, i); err == nil {
			err = AddSlice(p, whole, i, part)
		}
	}
	if err != nil {
		t.Error(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	return whole
}
