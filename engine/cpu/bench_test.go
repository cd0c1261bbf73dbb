package cpu_test

import (
	"testing"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/cpu"
)

// BenchmarkOverhead measures Run and the Into forms on two elements beside the
// loop that does the same work.
func BenchmarkOverhead(b *testing.B) {
	e, err := cpu.Serial(cpu.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	v := []float64{1, 2}
	x, _ := engine.FromSlice(v, 2)
	y, _ := engine.FromSlice([]float64{3, 4}, 2)
	out, _ := engine.FromSlice([]float64{0, 0}, 2)
	k, err := e.Bind(engine.Add{}, []engine.Spec{x.Spec(), y.Spec()}, nil)
	if err != nil {
		b.Fatal(err)
	}
	outs, ins := []*engine.Tensor{out}, []*engine.Tensor{x, y}
	b.Run("Run", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := e.Run(k, outs, ins); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("AddInto", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := engine.AddInto(e, out, x, y); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkPool measures waking and gathering a pool of two.
func BenchmarkPool(b *testing.B) {
	pool, err := cpu.NewPool(cpu.PoolOptions{Workers: 2})
	if err != nil {
		b.Fatal(err)
	}
	defer pool.Close()
	for b.Loop() {
		if err := pool.Enter(func(int) {}); err != nil {
			b.Fatal(err)
		}
	}
}
